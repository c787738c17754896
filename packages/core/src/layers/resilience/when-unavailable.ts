// What a decision is while the store cannot make it, by what each of its policies is to do then.

import type { PolicyResult, PolicySet, StoreResult, WhenUnavailable } from '../../store.js'
import type { LayerRequest } from '../layer.js'

export interface WithoutStore {
  /** For policies that say nothing. */
  readonly whenUnavailable: WhenUnavailable
  readonly cause: Error
  /** When it may be worth asking again. */
  readonly retryAfterMs: number
  /** Decides in memory, for the policies that count there. */
  readonly local: (request: LayerRequest) => StoreResult
}

/**
 * One policy that is to throw or deny decides for all; those to be decided locally decide if there
 * are any.
 * @throws {Error} the cause, if a policy is to throw
 */
export function decideWithoutStore(request: LayerRequest, options: WithoutStore): StoreResult {
  const { cause, retryAfterMs, local } = options
  const each = eachOf(request.target.policySet, options.whenUnavailable)
  if (each.includes('throw')) throw cause
  if (each.includes('deny') && (request.mode === 'consume' || request.mode === 'peek')) {
    const unavailableMs = Math.max(1, Math.ceil(retryAfterMs))
    return { ...blank(request, 0), granted: 0, unavailableMs }
  }
  if (each.every((when) => when === 'allow')) return blank(request)
  return local(request)
}

function eachOf(
  { policies, whenUnavailable }: PolicySet,
  otherwise: WhenUnavailable,
): WhenUnavailable[] {
  return policies.map((_, i) => whenUnavailable?.[i] ?? otherwise)
}

/**
 * The places of policies that count in memory. Those that deny do, too, for penalties and
 * refunds, which are not refused.
 */
export function localPlaces(policySet: PolicySet, otherwise: WhenUnavailable): number[] {
  return eachOf(policySet, otherwise).flatMap((when, i) => (when === 'allow' ? [] : [i]))
}

/** A result that knows nothing: all of each limit is left, or nothing. */
function blank(
  { target, costs, count }: LayerRequest,
  most: number = Number.POSITIVE_INFINITY,
): StoreResult {
  const policies = target.policySet.policies.map((policy, i): PolicyResult => {
    const remaining = Math.min(most, policy.limit)
    const cost = costs[i] as number
    return { policy, cost, limit: policy.limit, remaining, retryAfterMs: 0, resetAfterMs: 0 }
  })
  const untilUs = policies.map(() => 0)
  return { granted: count, nowUs: 0, untilUs, policies, source: 'local', degraded: true }
}

/**
 * The result for all policies that memory's is for those at these places, as they were given; a
 * part that is too small for the cost is no reason to deny for ever.
 */
export function wholeResult(
  request: LayerRequest,
  places: readonly number[],
  result: StoreResult,
): StoreResult {
  const whole = blank(request)
  const policies = [...whole.policies]
  const untilUs = [...whole.untilUs]
  places.forEach((place, i) => {
    const each = result.policies[i] as PolicyResult
    const { policy, limit } = whole.policies[place] as PolicyResult
    const isNever = each.retryAfterMs === Number.POSITIVE_INFINITY && each.cost <= limit
    const retryAfterMs = isNever ? Math.max(1_000, each.resetAfterMs) : each.retryAfterMs
    policies[place] = { ...each, policy, limit, retryAfterMs }
    untilUs[place] = result.untilUs[i] as number
  })
  return { ...result, policies, untilUs, source: 'local', degraded: true }
}
