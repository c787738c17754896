// A lease, and the answers given from it or in its place.

import type { LayerRequest } from '../../layer.js'
import { correctionOf, MadePolicyResult, MadeResult } from '../../request.js'
import type { PolicyResult, StoreResult, Target } from '../../store.js'

/** Units that were granted ahead. */
export class Lease {
  left: number
  /** Until when requests are refused once all units are spent; undefined: they are not. */
  refusedUntilUs: number | undefined
  /** Cancels the timer that ends it. */
  stop: () => void = () => {}
  readonly target: Target
  /** Until when, by this process's clock, what is left may be given back. */
  readonly giveBackUntilMs: number
  /** The store's answer, as it is when all units are spent. */
  readonly result: StoreResult
  readonly #askedUs: number
  readonly #lastsUs: number
  /** When the last unit was spent, counted from when they were asked for. */
  #spentAfterUs = 0

  constructor(
    target: Target,
    result: StoreResult,
    askedUs: number,
    heldUs: number,
    giveBackUntilMs: number,
  ) {
    this.target = target
    this.giveBackUntilMs = giveBackUntilMs
    this.result = result
    this.#askedUs = askedUs
    this.left = result.granted
    this.#lastsUs = result.degraded ? 0 : Math.min(heldUs, windowUs(result))
  }

  /** Whether no more units may be spent. The time counts from when they were asked for: Redis
   *  granted them later, so a lease never lasts too long. */
  isOver(nowUs: number): boolean {
    const afterUs = Math.ceil(nowUs - this.#askedUs)
    return afterUs < this.#spentAfterUs || afterUs >= this.#lastsUs
  }

  /** Spends units. Returns the answer as it is before the units that are left are spent. */
  spend(cost: number, nowUs: number, source: StoreResult['source']): StoreResult {
    this.left -= cost
    this.#spentAfterUs = Math.max(0, Math.ceil(nowUs - this.#askedUs))
    const { policies: all, nowUs: grantedUs, untilUs, sentAtMs } = this.result
    const laterMs = Math.floor(this.#spentAfterUs / 1_000)
    const { refusedUntilUs = nowUs } = this
    const leastMs = Math.ceil((refusedUntilUs - nowUs) / 1_000)
    const policies = new Array<PolicyResult>(all.length)
    for (let i = 0; i < all.length; i += 1)
      policies[i] = withLeft(all[i] as PolicyResult, this.left, cost, laterMs, leastMs)
    const sent = source === 'lease' ? undefined : sentAtMs
    return new MadeResult(1, grantedUs, untilUs, policies, source, sent)
  }

  /** Spends one of several units that were granted without the store, or denies if none is left. */
  spendWithoutStore(): StoreResult {
    const { result } = this
    if (this.left === 0) return { ...result, granted: 0 }
    this.left -= 1
    const policies = result.policies.map((each) => {
      const remaining = Math.min(each.limit, each.remaining + this.left)
      return { ...each, remaining, retryAfterMs: remaining > 0 ? 0 : each.retryAfterMs }
    })
    return { ...result, granted: 1, policies }
  }
}

/** Us until the end of the first window that the lease must not outlive. */
export function windowUs({ policies, untilUs, nowUs }: StoreResult): number {
  let lasts = Number.POSITIVE_INFINITY
  for (let i = 0; i < policies.length; i += 1) {
    const { kernel, windowMs } = (policies[i] as PolicyResult).policy
    if (kernel === undefined || kernel.ahead !== undefined) continue
    // `untilUs` is a whole number of ms after an instant within a ms; a window ends at a whole ms.
    const endUs = Math.floor((untilUs[i] as number) / 1_000) * 1_000
    // Units of a sliding counter count for one window more than the one they were taken in.
    const windowEndUs = kernel.traits.hasOneEnd ? endUs : endUs - windowMs * 1_000
    lasts = Math.min(lasts, windowEndUs - nowUs)
  }
  return lasts
}

/** A policy's result while units are left, some ms after they were granted. */
function withLeft(
  of: PolicyResult,
  left: number,
  cost: number,
  laterMs: number,
  leastMs: number,
): PolicyResult {
  const remaining = of.remaining + left
  const { policy, limit, retryAfterMs, resetAfterMs } = of
  const retryMs = remaining > 0 ? 0 : Math.max(1, leastMs, retryAfterMs - laterMs)
  const resetMs = Math.max(0, resetAfterMs - laterMs)
  return new MadePolicyResult(policy, cost, limit, remaining, retryMs, resetMs)
}

/** Whether nothing is left. A bucket that refuses a lease may still have units. */
export function isDenial({ policies }: StoreResult): boolean {
  return policies.some(({ remaining }) => remaining < 1)
}

/** The denial to give some ms after a result that grants no more. Its wait is at least
 *  `leastMs`. */
export function denialOf(
  { policies: all, nowUs, untilUs, sentAtMs }: StoreResult,
  laterMs: number,
  leastMs: number,
  source: StoreResult['source'],
): StoreResult {
  const policies = new Array<PolicyResult>(all.length)
  for (let i = 0; i < all.length; i += 1) {
    const { policy, limit, remaining, retryAfterMs, resetAfterMs } = all[i] as PolicyResult
    const retryMs = remaining > 0 ? 0 : Math.max(leastMs, retryAfterMs - laterMs)
    const resetMs = Math.max(0, resetAfterMs - laterMs)
    policies[i] = new MadePolicyResult(policy, 1, limit, remaining, retryMs, resetMs)
  }
  const sent = source === 'cache' ? undefined : sentAtMs
  return new MadeResult(0, nowUs + laterMs * 1_000, untilUs, policies, source, sent)
}

/** Gives back what is left of a lease, except units that later ones build on. */
export function cancelOf(
  target: Target,
  { policies, untilUs, nowUs }: StoreResult,
  left: number,
  mayBeReset: boolean,
): LayerRequest {
  const costs = policies.map(() => left)
  // A reset ends leases first, so units granted in the same instant were granted after it.
  const receipt = { untilUs, nowUs: mayBeReset ? nowUs : nowUs + 1 }
  return correctionOf('cancel', target, costs, receipt)
}
