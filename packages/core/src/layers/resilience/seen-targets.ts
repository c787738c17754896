// What was last seen in the store of targets with any number of policies.

import { traitsOf } from '../../algorithms/modes.js'
import { memoized } from '../../base/cache.js'
import type { LayerRequest } from '../../layer.js'
import type { PolicySet, StoreResult, Target } from '../../store.js'
import { LastSeen, type Seen } from './last-seen.js'

export class SeenTargets {
  readonly #tableOf: (policySet: PolicySet) => LastSeen

  /** @param maxKeys the most targets that are remembered, for each number of policies */
  constructor(maxKeys: number) {
    const tables: LastSeen[] = []
    this.#tableOf = memoized(({ policies: { length } }) => {
      tables[length] ??= new LastSeen(length, maxKeys)
      return tables[length]
    })
  }

  of(target: Target): Seen | undefined {
    return this.#tableOf(target.policySet).get(target)
  }

  /** Remembers a result. Returns what was seen before it if the result shows that the store lost it
   *  since. */
  noted(request: LayerRequest, result: StoreResult): Seen | undefined {
    const { mode, target, costs } = request
    // What takes nothing shows nothing new, and must not hide that a key was lost.
    let units = 0
    for (let i = 0; i < costs.length; i += 1) units += Math.abs(costs[i] as number)
    if (!traitsOf(mode).changes || units === 0) return undefined
    const whole = request.keep === undefined ? result : wholeOf(request, result)
    return this.#tableOf(target.policySet).note(target, whole, mode)
  }

  forget(target: Target): void {
    this.#tableOf(target.policySet).forget(target)
  }
}

/**
 * What remains to everybody: with what must remain and, where nothing is left to the request, at
 * the most that. Of a bucket the end tells more.
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
