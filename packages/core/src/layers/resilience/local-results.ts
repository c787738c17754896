// Results of decisions that are made in this process: for all policies of a set, as they were
// given, though memory has decided by some of them, and by parts of their limits.

import { policyAt } from '../../algorithms/policy.js'
import type { LayerRequest } from '../../layer.js'
import type { PolicyResult, StoreResult } from '../../store.js'
import { type LocalPart, latestUs } from './quota.js'

/** A result that knows nothing: all of each limit is left, or nothing. */
export function blank({ target, costs, count }: LayerRequest, most: number): StoreResult {
  const policies = target.policySet.policies.map((policy, i): PolicyResult => {
    const remaining = Math.min(most, policy.limit)
    const cost = costs[i] as number
    return { policy, cost, limit: policy.limit, remaining, retryAfterMs: 0, resetAfterMs: 0 }
  })
  const untilUs = policies.map(() => 0)
  return { granted: count, nowUs: 0, untilUs, policies, source: 'local', degraded: true }
}

/** The result for all policies that memory's is for those at these places. A part of a limit that
 *  is too small for the cost is no reason to deny for ever. */
export function wholeResult(
  request: LayerRequest,
  places: readonly number[],
  result: StoreResult,
): StoreResult {
  const { policies, untilUs } = blank(request, Number.POSITIVE_INFINITY)
  const placed = policies.map((own, place): PolicyResult => {
    const each = result.policies[places.indexOf(place)]
    if (each === undefined) return own
    const { limit } = own
    const remaining = Math.min(limit, each.remaining)
    const policy = policyAt(own.policy, result.nowUs)
    const isFar = each.retryAfterMs === Number.POSITIVE_INFINITY
    const isLater = isFar && each.cost + (request.keep?.[place] ?? 0) <= limit
    const retryAfterMs = isLater ? Math.max(1_000, each.resetAfterMs) : each.retryAfterMs
    return { ...each, policy, limit, remaining, retryAfterMs }
  })
  const until = untilUs.map((none, place) => result.untilUs[places.indexOf(place)] ?? none)
  return { ...result, policies: placed, untilUs: until, source: 'local', degraded: true }
}

/** What policies for outages have admitted, as the policies that they stand for count it. */
export function lasting(result: StoreResult, { each }: LocalPart): StoreResult {
  const untilUs = result.policies.map(({ policy }, i) =>
    typeof each[i] === 'object' ? latestUs(policy, result.nowUs) : (result.untilUs[i] as number),
  )
  return { ...result, untilUs }
}

/** Units are given back no longer than they count both here and in the store. */
export function shorter(result: StoreResult, counted: StoreResult): StoreResult {
  const untilUs = result.untilUs.map((us, i) => Math.min(us, counted.untilUs[i] as number))
  return { ...result, untilUs }
}
