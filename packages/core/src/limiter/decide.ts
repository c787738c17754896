// Turns a limiter's calls into requests, and the answers into decisions.

import { MAX_UNITS } from '../algorithms/algorithm.js'
import { traitsOf } from '../algorithms/modes.js'
import { unlimited } from '../algorithms/unlimited.js'
import { durationMs } from '../base/duration.js'
import { typeError, withPage } from '../base/errors.js'
import { isPromise } from '../base/maybe-async.js'
import { checkedOptions } from '../base/options.js'
import { promiseOf } from '../layer.js'
import { checkedKey, type Key } from '../policy-input.js'
import { countsAttempts } from '../request.js'
import type { Mode, PolicySet, StoreResult } from '../store.js'
import { type Cost, checkedCosts, checkUnits, costsOf } from './costs.js'
import { countFailure, SWITCHED_OFF, UNLIMITED } from './counters.js'
import {
  type Allowed,
  type Decision,
  type PartialDecision,
  unlimitedDecision,
  type WaitDecision,
  withMore,
  withoutPolicy,
} from './decision.js'
import { type LimiterRequest, MadeRequest } from './limiter-request.js'
import { observed, published } from './observers.js'
import { checkCallOptions, checkSignal } from './option-checks.js'
import type { DecideOptions, UpToOptions, WaitOptions } from './options.js'
import type { LimiterParts } from './parts.js'
import { decisionBy, decisionOf } from './pending-decision.js'
import { ALLOWED, DENIED } from './policy-choice.js'
import type { Resolved } from './policy-set.js'
import { isReleased } from './slots/slots.js'

/** The decision; a promise only where a policy function or the store does not answer at once. */
export function decide(
  limiter: LimiterParts,
  mode: Mode,
  of: Key,
  options?: DecideOptions,
): Decision | Promise<Decision> {
  if (options !== undefined) checkCallOptions(options, mode)
  const key = checkedKey(of)
  const { cost = 1, priority, policy } = options ?? NO_OPTIONS
  if (cost !== 1) checkedCosts(cost)
  if (priority !== undefined) limiter.priorities.check(priority)
  if (!limiter.isEnabled) return switchedOff(limiter, key, mode)
  const { fixed } = limiter
  if (policy === undefined && fixed !== undefined)
    return ask(limiter, mode, key, cost, priority, fixed)
  const resolved = limiter.policiesFor(mode, key, policy)
  // `bind`, not a closure: V8 would make room for what a closure captures in every call.
  if (isPromise(resolved)) return resolved.then(ask.bind(null, limiter, mode, key, cost, priority))
  return ask(limiter, mode, key, cost, priority, resolved)
}

const NO_OPTIONS: WaitOptions & UpToOptions = {}

function ask(
  limiter: LimiterParts,
  mode: Mode,
  key: string,
  cost: Cost,
  priority: string | undefined,
  resolved: Resolved,
): Decision | Promise<Decision> {
  const { judges } = traitsOf(mode)
  const costs = cost === 1 && judges ? resolved.costsOfOne : costsOf(resolved, cost, mode)
  const { policySet } = resolved
  if (!judges) mustHaveUnits(limiter, policySet, mode)
  if (policySet === undefined) return withoutStore(limiter, resolved, key, mode)
  const plain = new MadeRequest(mode, key, costs, resolved, policySet)
  if (priority === undefined) return decisionBy(limiter.layer, plain)
  // Only modes that judge take a class: see `checkCallOptions`.
  return decisionBy(limiter.layer, limiter.priorities.request(plain, priority))
}

export async function decideUpTo(
  limiter: LimiterParts,
  of: Key,
  n: number,
  options?: UpToOptions,
): Promise<PartialDecision> {
  if (options !== undefined)
    checkedOptions(options, 'consumeUpTo()', ['atLeast', 'policy', 'priority'])
  const { atLeast = 1, policy, priority } = options ?? NO_OPTIONS
  const key = checkedKey(of)
  checkUnits('n', n, MAX_UNITS)
  checkUnits('atLeast', atLeast, n)
  if (priority !== undefined) limiter.priorities.check(priority)
  if (!limiter.isEnabled)
    return withMore(observed(limiter, 'consume', switchedOff(limiter, key)), { granted: n })
  const known = limiter.policiesFor('consume', key, policy, 'consumeUpTo')
  const resolved = isPromise(known) ? await known : known
  const { policySet, costsOfOne } = resolved
  if (policySet === undefined) {
    const decision = observed(limiter, 'consume', withoutStore(limiter, resolved, key))
    return withMore(decision, { granted: decision.allowed ? n : 0 })
  }
  mustCountUnits(limiter, policySet)
  const plain = new MadeRequest('consume', key, costsOfOne, resolved, policySet)
  const one = limiter.priorities.request(plain, priority)
  const asked = promiseOf(limiter.layer, { ...one, count: n, atLeast })
  const result = await asked.catch((error) => {
    countFailure(one)
    throw error
  })
  const { granted } = result
  const decision = decisionOfUnits(one, granted > 0 ? granted : atLeast, result)
  return withMore(observed(limiter, 'consume', decision), { granted })
}

/** @throws {TypeError} WEIR_INVALID_POLICY if a policy counts attempts or slots, of which a request
 *  takes one */
function mustCountUnits({ name }: LimiterParts, policySet: PolicySet): void {
  if (!policySet.policies.some(({ kernel }) => kernel?.traits.takesOne)) return
  const others = countsAttempts({ policySet })
    ? 'a lock-out counts attempts'
    : 'a request takes one slot'
  const what = `consumeUpTo() of limiter "${name}" takes units, and ${others}`
  throw typeError('WEIR_INVALID_POLICY', `${what}; use consume()`)
}

/** @throws {TypeError} WEIR_INVALID_POLICY if all policies have slots */
function mustHaveUnits({ name }: LimiterParts, policySet: PolicySet | undefined, mode: Mode): void {
  if (policySet === undefined || !policySet.policies.every(isReleased)) return
  const what = `${mode}() of limiter "${name}" is about units, and its policies have slots`
  throw typeError('WEIR_INVALID_POLICY', `${what}; use release(decision)`)
}

/** The decision for several units that were asked for by `count`: its cost is that of one, times
 *  the units. */
function decisionOfUnits(one: LimiterRequest, units: number, result: StoreResult): Decision {
  const policies = result.policies.map((each) => ({ ...each, cost: units * each.cost }))
  const request = { ...one, costs: one.costs.map((cost) => units * cost) }
  return decisionOf(request, { ...result, granted: Math.min(result.granted, 1), policies })
}

export async function decideInTurn(
  limiter: LimiterParts,
  of: Key,
  options?: WaitOptions,
): Promise<WaitDecision> {
  if (options !== undefined)
    checkedOptions(options, 'wait()', ['cost', 'policy', 'timeout', 'signal', 'priority'])
  const { cost = 1, policy, timeout, signal, priority } = options ?? NO_OPTIONS
  const key = checkedKey(of)
  checkedCosts(cost)
  let timeoutMs = timeout === 0 ? 0 : Number.POSITIVE_INFINITY
  if (timeout !== undefined && timeout !== 0) timeoutMs = durationMs(timeout, 'timeout')
  if (signal !== undefined) checkSignal(signal)
  if (priority !== undefined) limiter.priorities.check(priority)
  const off = (): Decision | undefined => {
    signal?.throwIfAborted()
    if (limiter.isClosed) throw closedError(limiter)
    return limiter.isEnabled ? undefined : switchedOff(limiter, key)
  }
  const waited = (decision: Decision, waitedMs: number): WaitDecision =>
    withMore(observed(limiter, 'consume', decision), { waitedMs })
  const atOnce = off()
  if (atOnce !== undefined) return waited(atOnce, 0)
  const known = limiter.policiesFor('consume', key, policy, 'wait')
  // Awaits only a promise, so that calls join the queue in the order in which they were made.
  const resolved = isPromise(known) ? await known : known
  const costs = costsOf(resolved, cost)
  // While a policy function chose, the limiter may have been closed or switched off.
  const passes = off()
  if (passes !== undefined) return waited(passes, 0)
  const { policySet } = resolved
  if (policySet === undefined) return waited(withoutStore(limiter, resolved, key), 0)
  const plain = new MadeRequest('consume', key, costs, resolved, policySet)
  const request = limiter.priorities.request(plain, priority)
  const limited = { ...request, atLeast: 1 }
  const turn = limiter.waiting.wait({ request: limited, timeoutMs, signal })
  const { result, waitedMs } = await turn.catch((error) => {
    // A call that leaves, or that `close` rejects, got no decision, and the store is well.
    if (!signal?.aborted && !limiter.isClosed) countFailure(request)
    throw error
  })
  if (result === undefined) return waited(switchedOff(limiter, key), waitedMs)
  limiter.counters.waited(limiter.name, waitedMs)
  return waited(decisionOf(request, withoutCrossed(result)), waitedMs)
}

/** One answer of the store may be for several calls that wait, so none of them says what it has
 *  crossed. */
function withoutCrossed(result: StoreResult): StoreResult {
  if (result.policies.every(({ crossed }) => crossed === undefined)) return result
  const policies = result.policies.map(({ crossed: _, ...each }) => each)
  return { ...result, policies }
}

const DISABLED = unlimited({ name: 'disabled' })

/** The decision where no policy limits: there is no limit, or the policy function has failed. */
function withoutStore(
  { name, counters }: LimiterParts,
  resolved: Resolved,
  key: string,
  mode: Mode = 'consume',
): Decision {
  const { first } = resolved
  const isUnknown = resolved === DENIED || resolved === ALLOWED
  if (isUnknown && mode === 'consume') counters.countUnknown(first, resolved === ALLOWED)
  if (resolved === DENIED) return published(withoutPolicy(name, key, first), mode)
  if (!isUnknown && mode === 'consume') counters.count(UNLIMITED)
  const source = isUnknown ? 'local' : 'none'
  return published(unlimitedDecision(name, key, first, source, isUnknown), mode)
}

/** The decision of a limiter that is switched off. */
function switchedOff(
  { name, counters }: LimiterParts,
  key: string,
  mode: Mode = 'consume',
): Allowed {
  if (mode === 'consume') counters.count(SWITCHED_OFF)
  return published(unlimitedDecision(name, key, DISABLED, 'none', true), mode)
}

export function closedError({ name }: LimiterParts): Error {
  const what = `limiter "${name}" is closed, so it takes no waiting requests; make a new one`
  const code = 'WEIR_CLOSED'
  return Object.assign(new Error(withPage(code, what)), { code })
}
