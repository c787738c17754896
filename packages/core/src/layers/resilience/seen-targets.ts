// What was last seen in the store of targets with any number of policies.

import { traitsOf } from '../../algorithms/modes.js'
import { memoized } from '../../base/cache.js'
import type { LayerRequest } from '../../layer.js'
import { countsAttempts } from '../../request.js'
import type { PolicySet, StoreResult, Target } from '../../store.js'
import type { Loss } from './canary.js'
import { LastSeen, type Seen } from './last-seen.js'
import { SeenBlocks, type SeenBlocksOf } from './seen-blocks.js'

export class SeenTargets {
  readonly #kindOf: (policySet: PolicySet) => { table: LastSeen; hasBlocks: boolean }
  readonly #blocks: SeenBlocks

  /** @param maxKeys the most targets that are remembered, for each number of policies */
  constructor(maxKeys: number) {
    this.#blocks = new SeenBlocks(maxKeys)
    const tables: LastSeen[] = []
    this.#kindOf = memoized((policySet) => {
      const { length } = policySet.policies
      const table = tables[length] ?? new LastSeen(length, maxKeys)
      tables[length] = table
      return { table, hasBlocks: countsAttempts({ policySet }) }
    })
  }

  of(target: Target, nowUs: number): Seen | undefined {
    const { table, hasBlocks } = this.#kindOf(target.policySet)
    const seen = table.get(target)
    return hasBlocks ? withBlocks(seen, target, this.#blocks.of(target, nowUs)) : seen
  }

  /** Remembers a result. Returns what was seen before if the result, or what its node has lost,
   *  shows that the store has lost it. */
  noted(request: LayerRequest, result: StoreResult, losses?: readonly Loss[]): Seen | undefined {
    const { mode, target, costs } = request
    // A request that takes nothing shows nothing new, and must not hide that a key was lost.
    let units = 0
    for (let i = 0; i < costs.length; i += 1) units += Math.abs(costs[i] as number)
    if (!traitsOf(mode).changes || units === 0) return undefined
    const whole = request.keep === undefined ? result : wholeOf(request, result)
    const { table, hasBlocks } = this.#kindOf(target.policySet)
    const lost = table.note(target, whole, mode, losses)
    return hasBlocks ? withBlocks(lost, target, this.#blocks.noted(request, result)) : lost
  }

  forget(target: Target): void {
    this.#kindOf(target.policySet).table.forget(target)
    this.#blocks.forget(target)
  }
}

/** What was seen of a target, with its last blocks, which may be all that was seen. */
function withBlocks(
  seen: Seen | undefined,
  { policySet: { policies } }: Target,
  blocks: SeenBlocksOf | undefined,
): Seen | undefined {
  if (blocks === undefined) return seen
  if (seen !== undefined) return { ...seen, blocks }
  const nowUs = Math.max(...blocks.map((block) => block?.nowUs ?? 0))
  const remaining = policies.map(({ limit }) => limit)
  return { nowUs, remaining, untilUs: policies.map(() => 0), blocks }
}

/**
 * The result for a request without a class: adds what must remain for others or, if nothing is left
 * to the request, leaves at most that. A bucket's end tells more exactly.
 */
function wholeOf({ keep = [], costs }: LayerRequest, result: StoreResult): StoreResult {
  const policies = result.policies.map((each, i) => {
    const { policy, limit } = each
    const most = each.remaining + (costs[i] === 0 ? 0 : (keep[i] as number))
    if (each.remaining > 0 || !policy.kernel?.traits.drains) return { ...each, remaining: most }
    // The end was rounded up to whole us.
    const usedMs = ((result.untilUs[i] as number) - result.nowUs - 1) / 1_000
    const left = Math.max(0, limit - Math.ceil(usedMs / policy.unitMs))
    return { ...each, remaining: Math.min(most, left) }
  })
  return { ...result, policies }
}
