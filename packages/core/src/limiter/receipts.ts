// Refunds or settles a decision's charge by its receipt, and releases its slots. Each happens once,
// and only through a limiter of the same name on the same store. algorithms/driver.ts says what the
// store then writes, and driver.lua beside it what Redis writes.

import { traitsOf } from '../algorithms/modes.js'
import type { Policy } from '../algorithms/policy.js'
import { typeError } from '../base/errors.js'
import { checkedOptions } from '../base/options.js'
import { type LayerRequest, promiseOf } from '../layer.js'
import { correctionOf, withoutNames } from '../request.js'
import type { SettleRequest, StoreRequest, StoreResult } from '../store.js'
import { type Cost, chargedCosts, checkedCosts, refundedCosts, settledCosts } from './costs.js'
import { countCorrection } from './counters.js'
import { type Decision, Receipt, type Settlement } from './decision.js'
import type { DecideOptions } from './options.js'
import type { LimiterParts } from './parts.js'
import { storeOf } from './policy-set.js'
import { isNamed, releaseSlots, type Slots, slotsTaken } from './slots/slots.js'

/** The receipt of a decision that was charged. */
interface Charge extends Receipt {
  readonly request: StoreRequest
  readonly result: StoreResult
  slots: Slots | undefined
}

export async function refundDecision(
  limiter: LimiterParts,
  decision: Decision,
  options: Pick<DecideOptions, 'cost'> | undefined,
): Promise<void> {
  if (options !== undefined) checkedOptions(options, 'refund() of a decision', ['cost'])
  const cost = options?.cost === undefined ? undefined : checkedCosts(options.cost)
  const charge = chargeOf(limiter, decision, 'refund')
  if (charge === undefined || charge.spent) return
  const { request } = charge
  const costs = cost === undefined ? chargedCosts(request) : refundedCosts(request, cost)
  charge.spent = true
  if (costs.every((each) => each === 0) && !settlesItself(charge)) return
  while (isRenewing(charge)) await charge.slots?.renewing
  const corrections: LayerRequest[] = []
  const settles = settlesItself(charge)
  // Of a decision in parts, what was admitted without the store is refunded by itself.
  const isSettled = costs.map((_, place) => settles && isInStore(charge, place))
  const refunded = costs.map((each, place) => (isSettled[place] ? 0 : each))
  const settled = costs.map((each, place) => (isSettled[place] ? -each : 0))
  if (isSettled.includes(true)) corrections.push(settlementOf(charge, settled))
  if (refunded.some((each) => each > 0)) {
    // A penalty is no estimate: it is spent.
    const of = traitsOf(request.mode).judges ? charge.result : withoutNames(charge.result)
    corrections.push(correctionOf('refund', request.target, refunded, of))
  }
  const results = corrections.map((correction) => promiseOf(limiter.layer, correction))
  const back = costs.map((each) => -each)
  countCorrection(request, back, (await Promise.all(results))[0] as StoreResult)
}

export async function settleDecision(
  limiter: LimiterParts,
  decision: Decision,
  actual: Cost,
): Promise<Settlement> {
  const cost = checkedCosts(actual)
  const charge = chargeOf(limiter, decision, 'settle')
  if (charge === undefined) return NOTHING
  const { request } = charge
  const all = settledCosts(request, cost)
  if (charge.spent) return NOTHING
  const costs = all.map((each, place) => (isInStore(charge, place) ? each : Math.max(0, each)))
  charge.spent = true
  if (costs.every((each) => each === 0) && !settlesItself(charge)) return NOTHING
  while (isRenewing(charge)) await charge.slots?.renewing
  const settlement = settlementOf(charge, costs)
  const settled = await promiseOf(limiter.layer, settlement)
  countCorrection(request, settled.degraded ? withoutRefunds(costs) : costs, settled)
  return { policies: settled.policies, late: isLate(settlement, settled) }
}

const NOTHING: Settlement = Object.freeze({ policies: Object.freeze([]), late: false })

/** Whether one of the estimates that were settled had expired. */
function isLate(
  { target, charged, untilUs }: SettleRequest,
  { nowUs, degraded }: StoreResult,
): boolean {
  if (charged === undefined || degraded) return false
  return target.policySet.policies.some(({ kernel, numbers }, i) => {
    const expiryMs = kernel?.expiryMs?.(numbers, untilUs?.[i] as number)
    return expiryMs !== undefined && charged[i] !== 0 && expiryMs <= Math.floor(nowUs / 1_000)
  })
}

/** Whether a kernel decides what a settlement does, also one that changes no charge. What was taken
 *  without being judged, such as a penalty, was no estimate. */
function settlesItself(charge: Charge): boolean {
  const { mode, target } = charge.request
  const settles = ({ kernel }: Policy, place: number): boolean =>
    kernel?.settle !== undefined && isInStore(charge, place)
  return traitsOf(mode).judges && target.policySet.policies.some(settles)
}

/** Whether the store has charged a policy. Of a decision that was made in parts, some of them
 *  without the store, the names of estimates tell. */
function isInStore({ request, result }: Charge, place: number): boolean {
  const { kernel } = request.target.policySet.policies[place] as Policy
  const isEstimate = kernel?.expiryMs !== undefined
  return !result.degraded || (isEstimate && isNamed(result.untilUs[place] as number))
}

/** @param costs what was used less what was charged */
function settlementOf(charge: Charge, costs: readonly number[]): SettleRequest {
  const { request, result, slots } = charge
  const untilUs = slots === undefined ? result.untilUs : slots.named(result.untilUs)
  slots?.settled()
  const isKnown = traitsOf(request.mode).judges && (!result.degraded || settlesItself(charge))
  const inStore = chargedCosts(request).map((each, i) => (isInStore(charge, i) ? each : 0))
  const charged = isKnown ? inStore : undefined
  const { target } = request
  return { mode: 'settle', target, costs, count: 1, charged, untilUs, seenUs: result.nowUs }
}

/** Whether a renewal is under way, which changes the names of what is held. Otherwise, a correction
 *  is sent in the same turn: calls act in the order in which they were made. */
function isRenewing({ slots }: Charge): boolean {
  return slots?.renewing !== undefined
}

/** While the store is away, nothing is given back. */
function withoutRefunds(costs: readonly number[]): readonly number[] {
  return costs.map((each) => Math.max(0, each))
}

/** Releases the slots of a decision, once. */
export async function releaseDecision(limiter: LimiterParts, decision: Decision): Promise<void> {
  const slots = slotsOf(limiter, decision)
  if (slots !== undefined) await releaseSlots(limiter.releasing, slots)
}

/** The slots that a decision of this limiter took; undefined: none. */
export function slotsOf(limiter: LimiterParts, decision: Decision): Slots | undefined {
  const charge = chargeOf(limiter, decision, 'release')
  if (charge === undefined) return undefined
  charge.slots ??= slotsTaken(charge.request, charge.result)
  return charge.slots
}

/** What a decision of this limiter was charged; undefined: nothing. */
function chargeOf(
  { name, store }: LimiterParts,
  decision: Decision,
  method: 'refund' | 'settle' | 'release',
): Charge | undefined {
  const wrong = (given: string): TypeError => {
    const what = `${method}() of limiter "${name}" was given ${given}`
    return typeError('WEIR_INVALID_RECEIPT', what)
  }
  if (decision?.allowed === false) return undefined
  const { receipt } = decision ?? {}
  if (!(receipt instanceof Receipt)) {
    const copy = 'an object without a receipt, such as a copy by structuredClone or JSON'
    const orKey = method === 'refund' ? ', or a key' : ''
    throw wrong(`${copy}; give the decision itself${orKey}`)
  }
  const { request } = receipt
  if (request === undefined || request.mode === 'peek') return undefined
  const { policySet } = request.target
  const theirs = `${method} it there`
  if (policySet.name !== name)
    throw wrong(`a decision of a limiter of the name "${policySet.name}"; ${theirs}`)
  if (storeOf(policySet) !== store)
    throw wrong(`a decision of a limiter of that name on another store; ${theirs}`)
  return receipt as Charge
}
