// What a decision is while the store cannot make it, by what each of its policies is to do then.

import { partOfRequest, partOfTarget } from '../../request.js'
import type { PolicyResult, PolicySet, StoreResult, Target, WhenUnavailable } from '../../store.js'
import type { LayerRequest } from '../layer.js'

export interface WithoutStore {
  /** For policies that say nothing. */
  readonly whenUnavailable: WhenUnavailable
  readonly cause: Error
  /** When it may be worth asking again. */
  readonly retryAfterMs: number
  /** Decides in memory, for the policies at these places. */
  readonly local: (request: LayerRequest, places: readonly number[]) => StoreResult
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
  const places = localPlaces(each)
  if (places.length === each.length) return local(request, places)
  if (places.length === 0) return blank(request, Number.POSITIVE_INFINITY)
  return merged(request, places, local(partOfRequest(request, places), places))
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
function localPlaces(each: readonly WhenUnavailable[]): number[] {
  return each.map((_, i) => i).filter((i) => each[i] !== 'allow')
}

/** What of a target is decided in memory. */
export function localPart(target: Target, otherwise: WhenUnavailable): Target {
  const places = localPlaces(eachOf(target.policySet, otherwise))
  return places.length === target.policySet.policies.length ? target : partOfTarget(target, places)
}

/** What of a request is decided in memory. */
export function localPartOfRequest(
  request: LayerRequest,
  otherwise: WhenUnavailable,
): LayerRequest {
  const { policySet } = request.target
  const places = localPlaces(eachOf(policySet, otherwise))
  return places.length === policySet.policies.length ? request : partOfRequest(request, places)
}

/** A result that knows nothing: all of each limit is left, or nothing. */
function blank({ target, costs, count }: LayerRequest, most: number): StoreResult {
  const policies = target.policySet.policies.map((policy, i): PolicyResult => {
    const remaining = Math.min(most, policy.limit)
    const cost = costs[i] as number
    return { policy, cost, limit: policy.limit, remaining, retryAfterMs: 0, resetAfterMs: 0 }
  })
  const untilUs = policies.map(() => 0)
  return { granted: count, nowUs: 0, untilUs, policies, source: 'local', degraded: true }
}

function merged(
  request: LayerRequest,
  places: readonly number[],
  result: StoreResult,
): StoreResult {
  const whole = blank(request, Number.POSITIVE_INFINITY)
  const policies = [...whole.policies]
  const untilUs = [...whole.untilUs]
  places.forEach((place, i) => {
    policies[place] = result.policies[i] as PolicyResult
    untilUs[place] = result.untilUs[i] as number
  })
  return { ...result, policies, untilUs }
}
