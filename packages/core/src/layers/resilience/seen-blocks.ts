// The blocks that this process has seen in the store: of each counter of a lock-out the last one,
// for as long as its level matters. What was last seen of a target (last-seen.ts) tells of counts,
// and a count is over with its block; a level is not, and would be lost without a trace.
//
// In objects, unlike what was last seen: it takes all attempts of a limit to block a key, so few
// are.

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

  /** @param maxKeys counters that are remembered, about */
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
    // What was given back, or ended by hand, is not lost; and what a restore leaves, was neither.
    const shows = !gives && correction !== 'restore'
    let lost: (SeenBlock | undefined)[] | undefined
    policies.forEach(({ policy, block }, i) => {
      if (block === undefined) return
      const id = this.#idOf(target, i)
      const seen = this.#seen.get(id)
      const isOlder = seen !== undefined && nowUs < seen.nowUs
      // It was decided before what was seen, unless the clock has stepped back.
      if (isOlder && nowUs > seen.nowUs - MARGIN_US) return
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

/** Whether it stands, or its level is not forgotten. */
function matters({ level, untilUs }: SeenBlock, policy: Policy, nowUs: number): boolean {
  const forgetMs = level > 0 ? (policy.kernel?.longestBlockMs?.(policy.numbers) ?? 0) : 0
  return untilUs + forgetMs * 1_000 > nowUs
}

/** Whether what the store says can only be because it has forgotten a block. */
function isLost(seen: SeenBlock, policy: Policy, now: BlockState, nowUs: number): boolean {
  const laterUs = nowUs + MARGIN_US
  // None begins while another stands.
  if (seen.untilUs > laterUs && (now.hasBegun || !now.isBlocked)) return true
  return now.level < seen.level && matters(seen, policy, laterUs)
}
