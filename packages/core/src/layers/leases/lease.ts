// A lease, and what is answered by it or in its place.

import type { LayerRequest } from '../../layer.js'
import { correctionOf, MadePolicyResult, MadeResult } from '../../request.js'
import type { PolicyResult, StoreResult, Target } from '../../store.js'

/** Units that were granted ahead. */
export class Lease {
  left: number
  /** Until when requests are refused once it is used up; undefined: they are not. */
  refusedUntilUs: number | undefined
  /** Ends the wait for its end. */
  stop: () => void = () => {}
  readonly target: Target
  /** Until when, on this process's clock, what is left may go back. */
  readonly giveBackUntilMs: number
  /** As it is when all units are spent. */
  readonly result: StoreResult
  readonly #askedUs: number
  readonly #lastsUs: number
  /** When the last unit was spent, from when they were asked for. */
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

  /** Whether no unit may be spent any more. Counted from when they were asked for, so never for too
   *  long: Redis granted them later. */
  isOver(nowUs: number): boolean {
    const afterUs = Math.ceil(nowUs - this.#askedUs)
    return afterUs < this.#spentAfterUs || afterUs >= this.#lastsUs
  }

  /** Spends units. Returns the answer, as it stands before those that are left are spent. */
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

  /** One of several units that were granted without the store, or a denial if there is none
   *  left. */
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

/** How long it is to the end of the first window that it matters for. */
export function windowUs({ policies, untilUs, nowUs }: StoreResult): number {
  let lasts = Number.POSITIVE_INFINITY
  for (let i = 0; i < policies.length; i += 1) {
    const { kernel, windowMs } = (policies[i] as PolicyResult).policy
    if (kernel === undefined || kernel.ahead !== undefined) continue
    // Until is counted in whole ms from an instant within one; a window itself ends at a whole ms.
    const endUs = Math.floor((untilUs[i] as number) / 1_000) * 1_000
    // What a sliding counter has taken counts for a window more than that it was taken in.
    const windowEndUs = kernel.traits.hasOneEnd ? endUs : endUs - windowMs * 1_000
    lasts = Math.min(lasts, windowEndUs - nowUs)
  }
  return lasts
}

/** What is said of a policy while units are left, some ms after they were granted. */
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

/** Whether nothing is left. Of a bucket something may be where a lease is refused. */
export function isDenial({ policies }: StoreResult): boolean {
  return policies.some(({ remaining }) => remaining < 1)
}

/** A denial, as a result that grants no more shows it some ms later: for `leastMs` at least. */
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

/** Gives back what is left of a lease, as far as nothing stands on it. */
export function cancelOf(
  target: Target,
  { policies, untilUs, nowUs }: StoreResult,
  left: number,
  mayBeReset: boolean,
): LayerRequest {
  const costs = policies.map(() => left)
  // A reset ends leases beforehand: what is granted in its instant is granted after it.
  const receipt = { untilUs, nowUs: mayBeReset ? nowUs : nowUs + 1 }
  return correctionOf('cancel', target, costs, receipt)
}
