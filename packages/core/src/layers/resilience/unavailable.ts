// What a decision is while the store cannot make it, by what each of its policies was told to do then.

import type { Policy } from '../../algorithms/policy.js'
import type { StoreError } from '../../base/errors.js'
import type { PolicyResult } from '../../limiter/decision.js'
import {
  makePolicySet,
  type PolicySet,
  type StoreRequest,
  type StoreResult,
  type Target,
  type WhenUnavailable,
} from '../../store.js'

export interface WithoutStore {
  /** For policies that were told nothing. */
  readonly otherwise: WhenUnavailable
  readonly cause: StoreError
  /** When it may be worth asking again. */
  readonly retryAfterMs: number
  /** Decides in memory, for the policies at these places. */
  readonly local: (group: StoreRequest, places: readonly number[]) => StoreResult
}

/**
 * One policy that is to throw or deny decides for all; those to be decided locally decide if there are any.
 * @throws {StoreError} the cause, if a policy was told `'throw'`
 */
export function decideWithoutStore(
  group: StoreRequest,
  { otherwise, cause, retryAfterMs, local }: WithoutStore,
): StoreResult {
  const told = toldOf(group.policySet, otherwise)
  if (told.includes('throw')) throw cause
  if (told.includes('deny') && (group.mode === 'consume' || group.mode === 'peek')) {
    return {
      ...blank(group, 0),
      allowed: false,
      unavailableMs: Math.max(1, Math.ceil(retryAfterMs)),
    }
  }
  const places = localPlaces(told)
  if (places.length === told.length) return local(group, places)
  if (places.length === 0) return blank(group, Number.POSITIVE_INFINITY)
  return merged(group, places, local(partOfGroup(group, places), places))
}

/** What each policy was told. */
function toldOf(
  { policies, whenUnavailable }: PolicySet,
  otherwise: WhenUnavailable,
): WhenUnavailable[] {
  return policies.map((_, i) => whenUnavailable?.[i] ?? otherwise)
}

/** The places of policies that count in memory. Of those that deny, what is charged or given back does, for it is not refused. */
function localPlaces(told: readonly WhenUnavailable[]): number[] {
  return told.map((_, i) => i).filter((i) => told[i] !== 'allow')
}

/** What of a group is decided in memory. */
export function localPart<Any extends Target | StoreRequest>(
  of: Any,
  otherwise: WhenUnavailable,
): Any {
  const places = localPlaces(toldOf(of.policySet, otherwise))
  if (places.length === of.policySet.policies.length) return of
  return ('costs' in of ? partOfGroup(of, places) : partOfTarget(of, places)) as Any
}

/** An answer that knows nothing: all of each limit is left, or nothing. */
function blank({ policySet, costs }: StoreRequest, most: number): StoreResult {
  const figures = policySet.policies.map((policy, i) => {
    const remaining = Math.min(most, policy.limit)
    return {
      policy,
      cost: costs[i] as number,
      limit: policy.limit,
      remaining,
      retryAfterMs: 0,
      resetAfterMs: 0,
    }
  })
  const untilUs = figures.map(() => 0)
  return { allowed: true, nowUs: 0, untilUs, figures, source: 'local', degraded: true }
}

const parts: WeakMap<PolicySet, Map<string, PolicySet>> = new WeakMap()

/** The target as if its policy set had only the policies at these places. */
export function partOfTarget(
  { policySet, key, ownKeys }: Target,
  places: readonly number[],
): Target {
  const known = parts.get(policySet) ?? new Map<string, PolicySet>()
  parts.set(policySet, known)
  const id = places.join()
  const part =
    known.get(id) ??
    makePolicySet(
      policySet.name,
      places.map((i) => policySet.policies[i] as Policy),
      policySet.whenUnavailable && places.map((i) => policySet.whenUnavailable?.[i]),
    )
  known.set(id, part)
  return { policySet: part, key, ownKeys: ownKeys && places.map((i) => ownKeys[i]) }
}

/** The group as if it had only the policies at these places. */
export function partOfGroup(group: StoreRequest, places: readonly number[]): StoreRequest {
  return {
    ...group,
    ...partOfTarget(group, places),
    costs: places.map((i) => group.costs[i] as number),
    untilUs: group.untilUs && places.map((i) => group.untilUs?.[i] as number),
  }
}

function merged(group: StoreRequest, places: readonly number[], answer: StoreResult): StoreResult {
  const whole = blank(group, Number.POSITIVE_INFINITY)
  const figures = [...whole.figures]
  const untilUs = [...whole.untilUs]
  places.forEach((place, i) => {
    figures[place] = answer.figures[i] as PolicyResult
    untilUs[place] = answer.untilUs[i] as number
  })
  return { ...answer, figures, untilUs }
}
