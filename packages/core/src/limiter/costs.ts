// Costs by the names of policies, and the units that correct a decision's charge.

import { traitsOf } from '../algorithms/modes.js'
import type { Policy } from '../algorithms/policy.js'
import { invalid, quote, rangeError, typeError } from '../base/errors.js'
import { checkedCost, checkedCostOf, type PolicyUse } from '../policy-input.js'
import type { Mode } from '../store.js'
import type { LimiterRequest } from './limiter-request.js'
import type { Resolved } from './policy-set.js'
import { hasReleased, isReleased } from './slots/slots.js'

/** Units of each policy; or of some of them, by their names. */
export type Cost = number | Readonly<Record<string, number>>

/** @throws {TypeError | RangeError} WEIR_INVALID_COST unless it is whole, and from 1 to `most` */
export function checkUnits(what: string, units: number, most: number): void {
  if (Number.isInteger(units) && units >= 1 && units <= most) return
  const right = `a whole number from 1 to ${most}`
  throw invalid('WEIR_INVALID_COST', what, units, right, 'number')
}

/** @throws {TypeError | RangeError} WEIR_INVALID_COST */
export function checkedCosts(cost: Cost): Cost {
  if (typeof cost !== 'object') return checkedCost(cost)
  if (cost === null || Array.isArray(cost) || Object.keys(cost).length === 0) {
    const right = 'a whole number, 0 or more, or { policy: number } by the names of policies'
    throw invalid('WEIR_INVALID_COST', 'cost', cost, right)
  }
  for (const each of Object.values(cost)) checkedCost(each)
  return cost
}

/**
 * Units for each policy of the set: as named, as the policy's own cost says, or 1; to give units
 * back by names, 0 for a policy that is not named. Whatever the cost, a lock-out counts one attempt
 * and a concurrency one slot; only a cost by its name takes more slots.
 */
export function costsOf(resolved: Resolved, cost: Cost, mode: Mode = 'consume'): readonly number[] {
  const { policySet, ownCosts, uses } = resolved
  const policies = policySet?.policies ?? []
  // Slots are neither charged nor given back: they are taken, and released.
  const takesSlots = traitsOf(mode).judges
  if (typeof cost === 'number') {
    return policies.map((policy, i) => {
      return !takesSlots && isReleased(policy) ? 0 : (ownCosts?.[i] ?? unitsFor(policy, cost))
    })
  }
  // Empty if a policy function has failed: the names are not known.
  if (uses.length > 0) mustBeKnown(cost, uses, takesSlots)
  return policies.map((policy, i) => {
    const isNone = traitsOf(mode).givesOnly || (!takesSlots && isReleased(policy))
    return named(cost, policy) ?? (isNone ? 0 : (ownCosts?.[i] ?? 1))
  })
}

/** What to give back of a decision: of each policy, at most what it was charged. */
export function refundedCosts(request: LimiterRequest, cost: Cost): number[] {
  const { uses = [], target } = request
  const { policies } = target.policySet
  const costs = chargedCosts(request)
  if (typeof cost === 'object') {
    mustBeKnown(cost, uses, false)
    return costs.map((charged, i) => {
      const back = named(cost, policies[i] as Policy) ?? 0
      if (back > charged) throw tooMuch(back, charged, request)
      return back
    })
  }
  // A policy with its own cost may have been charged less than others.
  const most = Math.max(...costs)
  if (cost > most) throw tooMuch(cost, most, request)
  // An attempt was made even if a part of its cost is given back.
  return costs.map((each, i) => (cost < most ? partFor(policies[i] as Policy, each, cost) : each))
}

/**
 * By how much to change what a decision charged each policy (below 0: less), so that it is charged
 * what it cost. A number does not apply to policies with their own cost, and the charge of a policy
 * that is not named stays.
 */
export function settledCosts(request: LimiterRequest, actual: Cost): number[] {
  const { uses = [], target } = request
  const { policies } = target.policySet
  if (typeof actual === 'object') mustBeKnown(actual, uses, false)
  return chargedCosts(request).map((charged, i) => {
    const own = policies[i] as Policy
    if (isReleased(own)) return 0
    const hasOwn = uses.some(({ policy, cost }) => policy.name === own.name && cost !== undefined)
    const otherwise = typeof actual === 'object' || hasOwn ? charged : unitsFor(own, actual)
    return (named(actual, own) ?? otherwise) - charged
  })
}

/** What a request was charged for good: no slots, as these are released. */
export function chargedCosts({ costs, target }: LimiterRequest): readonly number[] {
  if (!hasReleased(target)) return costs
  return costs.map((cost, i) => (isReleased(target.policySet.policies[i] as Policy) ? 0 : cost))
}

function named(cost: Cost, policy: Policy): number | undefined {
  const { name } = policy
  if (typeof cost !== 'object' || !Object.hasOwn(cost, name)) return undefined
  return checkedCostOf(policy, cost[name] as number)
}

/** What a cost for all policies is for this one: at most one attempt, or one slot. */
function unitsFor({ kernel }: Policy, cost: number): number {
  return kernel?.traits.takesOne ? Math.min(cost, 1) : cost
}

function partFor({ kernel }: Policy, charged: number, back: number): number {
  return kernel?.traits.blocks ? 0 : Math.min(charged, back)
}

/** @param takesSlots whether slots may be among them */
function mustBeKnown(cost: object, uses: readonly PolicyUse[], takesSlots: boolean): void {
  const known = uses.map(({ policy }) => policy.name)
  const unknown = Object.keys(cost).find((name) => !known.includes(name))
  if (unknown === undefined) {
    if (!takesSlots) mustBeUnits(cost, uses)
    return
  }
  const what = `cost has ${quote(unknown)}, which is no policy here`
  throw typeError('WEIR_INVALID_COST', `${what}; give costs for ${known.join(', ')}`)
}

/** @throws {TypeError} WEIR_INVALID_COST if a cost in units names slots */
function mustBeUnits(cost: object, uses: readonly PolicyUse[]): void {
  const slots = uses.find(({ policy }) => isReleased(policy) && Object.hasOwn(cost, policy.name))
  if (slots === undefined) return
  const what = `cost has ${quote(slots.policy.name)}, whose slots are taken for a time`
  throw typeError('WEIR_INVALID_COST', `${what}; use release()`)
}

function tooMuch(cost: number, charged: number, { target }: LimiterRequest): RangeError {
  const besides = hasReleased(target) ? ' besides slots, which release() frees' : ''
  const problem = `cost is ${cost}, but ${charged} was charged${besides}; give ${charged} or less`
  return rangeError('WEIR_INVALID_COST', problem)
}
