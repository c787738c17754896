// Restores what the store has lost since this process saw it, by one `restore` after the first
// result that shows the loss. Results already given stand, so requests that were in flight then may
// pass beyond a limit. A block that was seen still holds: if the store grants a request while the
// block should stand, the request waits until the restore shows whether the block was lost or had
// ended.

import { traitsOf } from '../../algorithms/modes.js'
import { IGNORED, type Layer, type LayerRequest, type Pending } from '../../layer.js'
import { correctionOf } from '../../request.js'
import type { PolicyResult, StoreResult, Target } from '../../store.js'
import type { Loss } from './canary.js'
import type { Events } from './events.js'
import type { Seen } from './last-seen.js'
import { restoring, tellsLosses } from './restoring.js'

export class Losses {
  readonly #store: Layer
  readonly #events: Pick<Events, 'emit'>

  /** @param store asks the store, whatever a breaker says */
  constructor(store: Layer, events: Pick<Events, 'emit'>) {
    this.#store = store
    this.#events = events
  }

  /** Restores what was seen before. A failed restore is not repeated: up to one limit may then pass
   *  a second time.
   *  @param loss by which it may be lost */
  restore(target: Target, before: Seen, loss: Loss): void {
    this.#ask(restoring(target, before, loss), loss, IGNORED)
  }

  /**
   * The same after a request's result. The request is then decided with that result, or denied.
   * @param deadlineAtMs the request's deadline
   * @param failed called where the store does not answer
   */
  restoreAfter(
    request: LayerRequest,
    result: StoreResult,
    before: Seen,
    loss: Loss,
    deadlineAtMs: number | undefined,
    pending: Pending,
    failed: (error: unknown) => void,
  ): void {
    if (!isHeld(request, result, before)) {
      this.restore(request.target, withOwn(before, request, result), loss)
      pending.decided(result)
      return
    }
    const decided = (restored: StoreResult): void => {
      const denial = deniedBy(restored, request, result, before)
      if (denial !== undefined) this.#store.ask(givingBack(request, result), IGNORED)
      pending.decided(denial ?? result)
    }
    const restore = { ...restoring(request.target, before, loss), deadlineAtMs }
    this.#ask(restore, loss, { decided, failed })
  }

  #ask(restore: LayerRequest, { isSure }: Loss, pending: Pending): void {
    const { policySet, key } = restore.target
    this.#store.ask(restore, {
      decided: (result) => {
        const isLost = isSure || restore.target.policySet.policies.every(tellsLosses)
        if (isLost && result.granted > 0)
          this.#events.emit('data-loss', { limiter: policySet.name, key })
        pending.decided(result)
      },
      failed: (error) => pending.failed(error),
    })
  }
}

/**
 * What was seen, with the units that the request has taken since: where these count until the same
 * time as what was seen, a sliding window or counter cannot tell that they are new.
 */
function withOwn(before: Seen, { costs }: LayerRequest, result: StoreResult): Seen {
  const remaining = before.remaining.map((left, i) => {
    const { policy } = result.policies[i] as PolicyResult
    const isSame = isOneMs(result.untilUs[i], before.untilUs[i])
    return isSame && !tellsLosses(policy) ? left - result.granted * (costs[i] as number) : left
  })
  return { ...before, remaining }
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
 * The denial of a request if a block that was seen stands again; undefined: the block had ended. If
 * nothing was lost and the block ends at another time, this request or another one began it since.
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
    // The request's charge is given back.
    const remaining = Math.min(each.limit, each.remaining + granted * cost)
    return { ...each, cost, remaining, retryAfterMs: 0 }
  })
  return { ...restored, granted: 0, policies }
}

/** Blocks end at a whole ms, but results add the current time's fraction of a ms. */
function isOneMs(oneUs = Number.NaN, otherUs = Number.NaN): boolean {
  return Math.floor(oneUs / 1_000) === Math.floor(otherUs / 1_000)
}

/** Gives back the charge of a request that is denied after all. */
function givingBack({ target, costs }: LayerRequest, result: StoreResult): LayerRequest {
  const charged = costs.map((cost) => result.granted * cost)
  return correctionOf('refund', target, charged, result)
}
