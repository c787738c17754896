// The blocks that this process has seen in the store: for each counter of a lock-out the last one,
// as long as its level matters. last-seen.ts remembers counts, and a count ends with its block; a
// level does not, and would be lost without a trace.
//
// Blocks are objects, unlike what last-seen.ts remembers: to block a key takes all attempts of a
// limit, so few keys are blocked.

import type { BlockState } from '../../algorithms/block-code.js'
import { traitsOf } from '../../algorithms/modes.js'
import type { Policy } from '../../algorithms/policy.js'
import { Recent } from '../../base/cache.js'
import type { LayerRequest } from '../../layer.js'
import type { StoreResult, Target } from '../../store.js'
import { counterIds } from './counter-ids.js'

/** Clocks and replies differ by less than this. */
const MARGIN_US = 50_000

/** A block that was seen while it stood. */
export interface SeenBlock {
  readonly level: number
  /** Its end. */
  readonly untilUs: number
  /** When it was seen. */
  readonly nowUs: number
}

/** Of each policy of a target. */
export type SeenBlocksOf = readonly (SeenBlock | undefined)[]

export class SeenBlocks {
  readonly #seen: Recent<SeenBlock>
  readonly #idOf: (target: Target, place: number) => string = counterIds()

  /** @param maxKeys about how many counters it remembers */
  constructor(maxKeys: number) {
    this.#seen = new Recent(maxKeys)
  }

  /** The blocks of a target whose levels still matter; undefined: there are none. */
  of(target: Target, nowUs: number): SeenBlocksOf | undefined {
    if (this.#seen.isEmpty) return undefined
    const all = target.policySet.policies.map((policy, i) => {
      const seen = this.#seen.get(this.#idOf(target, i))
      return seen !== undefined && matters(seen, policy, nowUs) ? seen : undefined
    })
    return all.some((seen) => seen !== undefined) ? all : undefined
  }

  /** Remembers a result. Returns the blocks seen before that it shows to be lost. */
  noted({ mode, target }: LayerRequest, result: StoreResult): SeenBlocksOf | undefined {
    const { nowUs, untilUs, policies } = result
    const { gives, correction } = traitsOf(mode)
    // A block that was given back, or ended by hand, is not lost, and the result of a restore shows
    // no loss.
    const shows = !gives && correction !== 'restore'
    let lost: (SeenBlock | undefined)[] | undefined
    policies.forEach(({ policy, block }, i) => {
      if (block === undefined) return
      const id = this.#idOf(target, i)
      const seen = this.#seen.get(id)
      const isOlder = seen !== undefined && nowUs < seen.nowUs
      // This result is older than what was seen, unless the clock has stepped back. What lifts a
      // block is believed all the same: a lifted block that comes back is worse than a new one that
      // is not remembered.
      if (isOlder && nowUs > seen.nowUs - MARGIN_US && !gives) return
      if (shows && seen !== undefined && !isOlder && isLost(seen, policy, block, nowUs)) {
        lost ??= policies.map(() => undefined)
        lost[i] = seen
      } else if (block.isBlocked) {
        this.#seen.set(id, { level: block.level, untilUs: untilUs[i] as number, nowUs })
      } else if (seen !== undefined && (block.level < seen.level || seen.untilUs > nowUs)) {
        this.#seen.delete(id)
      }
    })
    return lost
  }

  forget(target: Target): void {
    if (this.#seen.isEmpty) return
    target.policySet.policies.forEach((_, i) => {
      this.#seen.delete(this.#idOf(target, i))
    })
  }
}

/** Whether it stands, or its level is not forgotten yet. */
function matters({ level, untilUs }: SeenBlock, policy: Policy, nowUs: number): boolean {
  const forgetMs = level > 0 ? (policy.kernel?.longestBlockMs?.(policy.numbers) ?? 0) : 0
  return untilUs + forgetMs * 1_000 > nowUs
}

/** Whether only a forgotten block explains what the store says. */
function isLost(seen: SeenBlock, policy: Policy, now: BlockState, nowUs: number): boolean {
  const laterUs = nowUs + MARGIN_US
  // No block begins while another one stands.
  if (seen.untilUs > laterUs && (now.hasBegun || !now.isBlocked)) return true
  return now.level < seen.level && matters(seen, policy, laterUs)
}
