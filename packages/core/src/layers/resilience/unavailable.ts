// What a decision is while the store cannot make it, by what each of its policies was told to do then.

import type { Policy } from '../../algorithms/policy.js'
import type { StoreError } from '../../base/errors.js'
import type { PolicyFigures } from '../../limiter/decision.js'
import {
  type Answer,
  type Group,
  makePlan,
  type Plan,
  type Subject,
  type WhenUnavailable,
} from '../../store.js'

export interface WithoutStore {
  /** For policies that were told nothing. */
  readonly otherwise: WhenUnavailable
  readonly cause: StoreError
  /** When it may be worth asking again. */
  readonly retryAfterMs: number
  /** Decides in memory, for the policies at these places. */
  readonly local: (group: Group, places: readonly number[]) => Answer
}

/**
 * One policy that is to throw or deny decides for all; those to be decided locally decide if there are any.
 * @throws {StoreError} the cause, if a policy was told `'throw'`
 */
export function decideWithoutStore(
  group: Group,
  { otherwise, cause, retryAfterMs, local }: WithoutStore,
): Answer {
  const told = toldOf(group.plan, otherwise)
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
  { policies, whenUnavailable }: Plan,
  otherwise: WhenUnavailable,
): WhenUnavailable[] {
  return policies.map((_, i) => whenUnavailable?.[i] ?? otherwise)
}

/** The places of policies that count in memory. Of those that deny, what is charged or given back does, for it is not refused. */
function localPlaces(told: readonly WhenUnavailable[]): number[] {
  return told.map((_, i) => i).filter((i) => told[i] !== 'allow')
}

/** What of a group is decided in memory. */
export function localPart<Any extends Subject | Group>(of: Any, otherwise: WhenUnavailable): Any {
  const places = localPlaces(toldOf(of.plan, otherwise))
  if (places.length === of.plan.policies.length) return of
  return ('costs' in of ? partOfGroup(of, places) : partOfSubject(of, places)) as Any
}

/** An answer that knows nothing: all of each limit is left, or nothing. */
function blank({ plan, costs }: Group, most: number): Answer {
  const figures = plan.policies.map((policy, i) => {
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

const parts: WeakMap<Plan, Map<string, Plan>> = new WeakMap()

/** The subject as if its plan had only the policies at these places. */
export function partOfSubject({ plan, key, ownKeys }: Subject, places: readonly number[]): Subject {
  const known = parts.get(plan) ?? new Map<string, Plan>()
  parts.set(plan, known)
  const id = places.join()
  const part =
    known.get(id) ??
    makePlan(
      plan.name,
      places.map((i) => plan.policies[i] as Policy),
      plan.whenUnavailable && places.map((i) => plan.whenUnavailable?.[i]),
    )
  known.set(id, part)
  return { plan: part, key, ownKeys: ownKeys && places.map((i) => ownKeys[i]) }
}

/** The group as if it had only the policies at these places. */
export function partOfGroup(group: Group, places: readonly number[]): Group {
  return {
    ...group,
    ...partOfSubject(group, places),
    costs: places.map((i) => group.costs[i] as number),
    untilUs: group.untilUs && places.map((i) => group.untilUs?.[i] as number),
  }
}

function merged(group: Group, places: readonly number[], answer: Answer): Answer {
  const whole = blank(group, Number.POSITIVE_INFINITY)
  const figures = [...whole.figures]
  const untilUs = [...whole.untilUs]
  places.forEach((place, i) => {
    figures[place] = answer.figures[i] as PolicyFigures
    untilUs[place] = answer.untilUs[i] as number
  })
  return { ...answer, figures, untilUs }
}
