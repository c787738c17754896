// What the store has lost since this process saw it, and how that comes back: by one `restore`
// after the first result that shows it. Results already given stand, so what was in flight then may
// pass beyond a limit. A block that was seen holds all the same: where it should stand, and the
// store grants a request, that request waits until the restore shows whether the block was lost or
// ended.

import { traitsOf } from '../../algorithms/modes.js'
import { IGNORED, type Layer, type LayerRequest, type Pending } from '../../layer.js'
import { correctionOf } from '../../request.js'
import type { PolicyResult, StoreResult, Target } from '../../store.js'
import type { Events } from './events.js'
import type { Seen } from './last-seen.js'
import { restoring } from './restoring.js'

export class Losses {
  readonly #store: Layer
  readonly #events: Pick<Events, 'emit'>

  /** @param store asks it whatever a breaker says */
  constructor(store: Layer, events: Pick<Events, 'emit'>) {
    this.#store = store
    this.#events = events
  }

  /** Restores what was seen before. Where that fails nothing is sent again: up to one limit may
   *  then pass a second time. */
  restore(target: Target, before: Seen): void {
    this.#ask(restoring(target, before), IGNORED)
  }

  /**
   * The same after a result of a request, which it is then decided with, or with a denial.
   * @param deadlineAtMs of the request
   * @param failed called where the store does not answer
   */
  restoreAfter(
    request: LayerRequest,
    result: StoreResult,
    before: Seen,
    deadlineAtMs: number | undefined,
    pending: Pending,
    failed: (error: unknown) => void,
  ): void {
    if (!isHeld(request, result, before)) {
      this.restore(request.target, before)
      pending.decided(result)
      return
    }
    const decided = (restored: StoreResult): void => {
      const denial = deniedBy(restored, request, result, before)
      if (denial !== undefined) this.#store.ask(givingBack(request, result), IGNORED)
      pending.decided(denial ?? result)
    }
    this.#ask({ ...restoring(request.target, before), deadlineAtMs }, { decided, failed })
  }

  #ask(restore: LayerRequest, pending: Pending): void {
    const { policySet, key } = restore.target
    this.#store.ask(restore, {
      decided: (result) => {
        if (result.granted > 0) this.#events.emit('data-loss', { limiter: policySet.name, key })
        pending.decided(result)
      },
      failed: (error) => pending.failed(error),
    })
  }
}

/** Whether a block was seen that would have denied the request. */
function isHeld(
  { mode }: LayerRequest,
  { granted, nowUs }: StoreResult,
  { blocks }: Seen,
): boolean {
  if (granted === 0 || !traitsOf(mode).judges) return false
  return blocks?.some((block) => block !== undefined && block.untilUs > nowUs) === true
}

/**
 * What a request is denied with, as a block stands again that was seen; undefined: it had ended. A
 * block that stands, where nothing was lost, and ends at another time, was begun since by this
 * request or another.
 */
function deniedBy(
  restored: StoreResult,
  { costs }: LayerRequest,
  { granted }: StoreResult,
  { blocks }: Seen,
): StoreResult | undefined {
  const isSeen = ({ block }: PolicyResult, i: number): boolean => {
    if (!block?.isBlocked) return false
    return restored.granted > 0 || isOneMs(restored.untilUs[i], blocks?.[i]?.untilUs)
  }
  if (!restored.policies.some(isSeen)) return undefined
  const policies = restored.policies.map((each, i) => {
    const cost = costs[i] as number
    if (each.block?.isBlocked) return { ...each, cost }
    // What the request was charged is given back.
    const remaining = Math.min(each.limit, each.remaining + granted * cost)
    return { ...each, cost, remaining, retryAfterMs: 0 }
  })
  return { ...restored, granted: 0, policies }
}

/** Blocks end with a whole millisecond, but are said to end as far within one as it is now. */
function isOneMs(oneUs = Number.NaN, otherUs = Number.NaN): boolean {
  return Math.floor(oneUs / 1_000) === Math.floor(otherUs / 1_000)
}

/** Gives back what a request was charged that is denied after all. */
function givingBack({ target, costs }: LayerRequest, result: StoreResult): LayerRequest {
  const charged = costs.map((cost) => result.granted * cost)
  return correctionOf('refund', target, charged, result)
}
