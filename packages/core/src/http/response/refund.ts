// Gives back or corrects a request's cost once its response is known. limiter/receipts.ts does the
// accounting.

import { quote } from '../../base/errors.js'
import type { Awaitable } from '../../base/maybe-async.js'
import { warnOnce } from '../../base/warnings.js'
import type { Cost } from '../../limiter/costs.js'
import type { Decision } from '../../limiter/decision.js'
import type { RateLimiter } from '../../limiter/limiter.js'
import type { ResponseOutcome } from './ending.js'
import { isCarried, type ResponseSettings, SETTINGS } from './request-decision.js'

/**
 * Whether the request's cost is to be given back. Called once, when the response has ended or its
 * connection has closed.
 */
export type RefundWhen<Req, Rest extends unknown[] = []> = (
  request: Req,
  outcome: ResponseOutcome,
  ...rest: Rest
) => Awaitable<boolean>

/**
 * What a request turned out to cost; undefined: as much as was charged. Called once, when the
 * response has ended or its connection has closed, which may be before its work has ended.
 */
export type Settle<Req, Rest extends unknown[] = []> = (
  request: Req,
  outcome: ResponseOutcome,
  ...rest: Rest
) => Awaitable<Cost | undefined>

/**
 * Never rejects: the response has long been sent, so a failure can only be a warning. Returns true
 * if no refund was wanted, or it failed: a settlement that follows does nothing if it was sent.
 */
export async function refundIf(
  isWanted: () => Awaitable<boolean>,
  limiter: RateLimiter,
  decision: Decision,
): Promise<boolean> {
  try {
    if (!(await isWanted())) return true
    await limiter.refund(decision)
  } catch (error) {
    const what = `a refund of limiter "${limiter.name}" failed, so the cost stays charged`
    warnOnce('WEIR_REFUND_FAILED', limiter.name, `${what}: ${quote(error)}`)
    return true
  }
  return false
}

/** Never rejects, like `refundIf`. */
export async function settleAs(
  actual: () => Awaitable<Cost | undefined>,
  limiter: RateLimiter,
  decision: Decision,
): Promise<void> {
  try {
    const cost = (await actual()) ?? estimateOf(decision)
    if (cost !== undefined) await limiter.settle(decision, cost)
  } catch (error) {
    const { name } = limiter
    const what = `a request of limiter "${name}" could not be settled, so its charge stays`
    warnOnce('WEIR_SETTLE_FAILED', name, `${what}: ${quote(error)}`)
    const cost = estimateOf(decision)
    // Does nothing if the store has failed: its settlement is on its way, or lost.
    if (cost !== undefined) await limiter.settle(decision, cost).catch(() => {})
  }
}

/** What a decision charged of policies that give it back unless it is settled. */
function estimateOf({ policies }: Decision): Cost | undefined {
  const held = policies.filter(({ policy, cost }) => policy.kernel?.expiryMs && cost > 0)
  if (held.length === 0) return undefined
  return Object.fromEntries(held.map(({ policy, cost }) => [policy.name, cost]))
}

/**
 * Gives back what earlier limiters have charged, if their options ask for it.
 * @param by the settings of the limiter that refuses; undefined: it has made no decision
 */
export function refundEarlier(found: unknown, by: ResponseSettings | undefined): void {
  if (!isCarried(found)) return
  const { all, [SETTINGS]: allSettings } = found
  for (let i = 0; i < all.length; i += 1) {
    const settings = allSettings[i] as ResponseSettings
    if (settings.refunds === undefined || settings === by) continue
    void refundIf(() => true, settings.refunds, all[i] as Decision)
  }
}
