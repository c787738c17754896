// Counts decisions, in the rows and cells of counters.ts.

import { traitsOf } from '../algorithms/modes.js'
import type { Mode, PolicyResult, PolicySet, StoreRequest, StoreResult } from '../store.js'
import {
  CLASS_ALLOWED,
  CLASS_DENIED,
  CLASS_FAILED,
  DENIALS,
  DENIED_UNITS,
  FAILED,
  NEAR_LIMIT,
  PENALTY,
  REFUNDED,
  type SetCounters,
  TAKEN,
} from './counters.js'
import type { LimiterRequest } from './limiter-request.js'

/** A policy set of a limiter; other sets have no counters. */
interface CountedSet extends PolicySet {
  readonly counters?: SetCounters | undefined
}

/** @param place of the binding policy */
export function countDecision(
  request: LimiterRequest,
  result: StoreResult,
  binding: PolicyResult,
  place: number,
): void {
  const { mode, target, costs, priority } = request
  const { counters } = target.policySet as CountedSet
  if (counters === undefined) return
  if (mode !== 'consume') {
    countOther(counters, mode, costs)
    return
  }
  const row = rowOf(result)
  const cells = counters.policies[place] as Float64Array
  const isAllowed = result.granted > 0
  if (isAllowed) {
    add(counters.decisions, row, 1)
    addAll(counters.policies, TAKEN, costs)
    if (binding.remaining <= binding.limit * NEAR) add(cells, NEAR_LIMIT, 1)
  } else {
    add(counters.decisions, row + 3, 1)
    countDenial(cells, binding, result.unavailableMs !== undefined)
  }
  if (priority !== undefined)
    countOfClass(counters, priority, isAllowed ? CLASS_ALLOWED : CLASS_DENIED)
}

/** The place in ROWS of what a store allows; a denial is counted three places further. */
function rowOf({ source, degraded }: StoreResult): number {
  if (degraded || source === 'local') return 2
  return source === 'cache' || source === 'lease' ? 1 : 0
}

function countOther({ policies }: SetCounters, mode: Mode, costs: readonly number[]): void {
  const { takes, gives } = traitsOf(mode)
  if (takes) addAll(policies, PENALTY, costs)
  else if (gives) addAll(policies, REFUNDED, costs)
}

function countDenial(cells: Float64Array, binding: PolicyResult, isUnavailable: boolean): void {
  add(cells, DENIED_UNITS, binding.cost)
  let reason = 0
  if (isUnavailable) reason = 2
  else if (binding.retryAfterMs === Number.POSITIVE_INFINITY) reason = 1
  add(cells, DENIALS + reason, 1)
}

function addAll(all: readonly Float64Array[], place: number, units: readonly number[]): void {
  for (let i = 0; i < units.length; i += 1) add(all[i] as Float64Array, place, units[i] as number)
}

/** The share of a limit at which it is near. */
const NEAR = 0.2

function add(counters: Float64Array, place: number, units: number): void {
  counters[place] = (counters[place] as number) + units
}

function countOfClass({ classes }: SetCounters, priority: string, place: number): void {
  const cells = classes.get(priority)
  if (cells !== undefined) add(cells, place, 1)
}

/** The store could not decide, and nothing decides instead. */
export function countFailure({ target, priority }: LimiterRequest): void {
  const { counters } = target.policySet as CountedSet
  if (counters === undefined) return
  add(counters.decisions, FAILED, 1)
  if (priority !== undefined) countOfClass(counters, priority, CLASS_FAILED)
}

/** Counts by how many units the charge of a decision grew, or below 0 shrank. */
export function countCorrection({ target }: StoreRequest, costs: readonly number[]): void {
  const { counters } = target.policySet as CountedSet
  counters?.policies.forEach((cells, i) => {
    const units = costs[i] as number
    add(cells, units > 0 ? TAKEN : REFUNDED, Math.abs(units))
  })
}
