// The second step: finds out what a request may take and what it costs, and gets the decision.

import { reservingAhead } from '../algorithms/bucket/policies.js'
import { isPolicy, type Policy } from '../algorithms/policy.js'
import { slidingWindow } from '../algorithms/sliding-log/policies.js'
import { Recent } from '../base/cache.js'
import { type Duration, durationMs } from '../base/duration.js'
import { quote, rangeError, typeError } from '../base/errors.js'
import { type Awaitable, isPromise, whenKnown } from '../base/maybe-async.js'
import type { Cost } from '../limiter/costs.js'
import { countersOfLimiter } from '../limiter/counters.js'
import type { Decision, WaitDecision } from '../limiter/decision.js'
import { RateLimiter } from '../limiter/limiter.js'
import type { DecideOptions, WaitOptions } from '../limiter/options.js'
import { usesOf } from '../limiter/policy-set.js'
import { isHeld } from '../limiter/slots/slots.js'
import type { PolicyOfKey } from '../live/types.js'
import {
  checkedUses,
  type Key,
  LongKeyError,
  type PolicyInput,
  type PolicyUse,
} from '../policy-input.js'
import type { HttpAdapter } from './adapter.js'
import { waitMsOf } from './option-checks.js'
import type { Asked, LimitOptions } from './options.js'
import { prioritySource } from './priority.js'
import { canSeeEnd } from './response/ending.js'
import { clientLeft, limiterClosed, longKey, type Refusal } from './response/refusal.js'

/** The decision on a request for which `cost` returned no valid cost: 1 was charged. */
export class InvalidCost {
  readonly decision: Decision

  constructor(decision: Decision) {
    this.decision = decision
  }
}

/** A request that is refused without a decision: a key is too long, its client has left, or the
 *  limiter is closed. */
export class Undecided {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    this.refusal = refusal
  }
}

export type Consumed = Decision | WaitDecision | InvalidCost | Undecided

export type Consume<Req, Res, Rest extends unknown[]> = (
  request: Req,
  response: Res | undefined,
  key: Key,
  rest: Rest,
) => Consumed | Promise<Consumed>

/** Not the limiter's own method, which would find the key once more where it counts by address. */
const decideByKey = RateLimiter.prototype.decide

/** Decides on requests. */
export function consumer<Req, Res, Rest extends unknown[]>(
  options: LimitOptions<Req, Rest>,
  limiter: RateLimiter,
  source: PolicySource<Req, Rest>,
  adapter: Pick<HttpAdapter<Req, Res, Rest>, 'afterResponse'>,
): Consume<Req, Res, Rest> {
  const consume = consumerOf(options, limiter, source, adapter)
  // `identify` has checked the key of the request, so only a policy key can be too long here, where
  // the request chooses the policy. Shadow mode refuses nobody.
  if (source.of === undefined || options.shadow) return consume
  const { undecided } = countersOfLimiter(limiter)
  function failed(error: unknown): Undecided {
    if (!(error instanceof LongKeyError)) throw error
    undecided.noKey += 1
    return new Undecided(longKey())
  }
  return (request, response, key, rest) => {
    try {
      const consumed = consume(request, response, key, rest)
      return isPromise(consumed) ? consumed.catch(failed) : consumed
    } catch (error) {
      return failed(error)
    }
  }
}

function consumerOf<Req, Res, Rest extends unknown[]>(
  options: LimitOptions<Req, Rest>,
  limiter: RateLimiter,
  source: PolicySource<Req, Rest>,
  adapter: Pick<HttpAdapter<Req, Res, Rest>, 'afterResponse'>,
): Consume<Req, Res, Rest> {
  const { cost = 1, shadow = false } = options
  const uses = source.fixed && usesIn(source.fixed, options.name)
  const { of: policyOf } = source
  const priority = prioritySource(options, limiter.name)
  if (typeof cost !== 'function') checkCost(cost, uses)
  const waitMs = waitMsOf(options)
  // Shadow mode delays nobody.
  const waits = waitMs > 0 && !shadow
  const isFixed = typeof cost !== 'function' && typeof priority !== 'function'
  if (isFixed && policyOf === undefined && !waits) {
    const isPlain = cost === 1 && priority === undefined
    const fixed = isPlain ? undefined : { cost, priority }
    return (_request, _response, key) => decideByKey.call(limiter, key, fixed)
  }

  const costOf = typeof cost === 'function' ? cost : () => cost
  function decide(
    request: Req,
    response: Res | undefined,
    key: Key,
    rest: Rest,
    ofClass: { readonly priority: string } | undefined,
  ): Consumed | Promise<Consumed> {
    return whenKnown<Cost, Consumed>(costOf(request, ...rest), (units) => {
      const isValid = isCost(units, uses)
      // A request that makes its own cost invalid must not be free.
      const call: DecideOptions = {
        cost: isValid ? units : 1,
        ...ofClass,
        ...(policyOf && { policy: () => whenKnown(policyOf(request, ...rest), (input) => input) }),
      }
      if (!isValid)
        return whenKnown(decideByKey.call(limiter, key, call), (known) => new InvalidCost(known))
      if (!waits) return decideByKey.call(limiter, key, call)
      return waitForTurn(limiter, key, { ...call, timeout: waitMs }, response, adapter)
    })
  }

  if (typeof priority !== 'function') {
    const ofClass = priority === undefined ? undefined : { priority }
    return (request, response, key, rest) => decide(request, response, key, rest, ofClass)
  }
  return (request, response, key, rest) =>
    whenKnown<string, Consumed>(priority(request, rest), (known) =>
      decide(request, response, key, rest, { priority: known }),
    )
}

/** Why a wait was aborted. */
const LEFT = Symbol('the client has left')

/**
 * Delays a request until its turn instead of refusing it. A client that leaves meanwhile gives its
 * turn back; without a response, Weir cannot know that it left.
 */
async function waitForTurn<Res>(
  limiter: RateLimiter,
  key: Key,
  options: WaitOptions,
  response: Res | undefined,
  { afterResponse }: Pick<HttpAdapter<never, Res, never>, 'afterResponse'>,
): Promise<WaitDecision | Undecided> {
  const leaving = new AbortController()
  const leave = (): void => leaving.abort(LEFT)
  if (response !== undefined)
    canSeeEnd(
      afterResponse,
      response,
      leave,
      `limiter "${limiter.name}"`,
      'does not notice clients that leave',
    )
  try {
    return await limiter.wait(key, { ...options, signal: leaving.signal })
  } catch (error) {
    if (error === LEFT) return new Undecided(clientLeft())
    if ((error as { code?: unknown } | null)?.code === 'WEIR_CLOSED')
      return new Undecided(limiterClosed())
    throw error
  }
}

function checkCost(cost: Cost, uses: readonly PolicyUse[] | undefined): void {
  if (isCost(cost, uses)) return
  const known = uses === undefined ? 'policies' : uses.map(({ policy }) => policy.name).join(', ')
  const right = `give a whole number, 0 or more, costs by the names of ${known}, or a function`
  throw rangeError('WEIR_INVALID_OPTION', `cost is ${quote(cost)}; ${right}`)
}

/** @param uses the policies; undefined: they are chosen by each request */
function isCost(cost: unknown, uses: readonly PolicyUse[] | undefined): cost is Cost {
  if (typeof cost !== 'object') return isUnits(cost)
  if (cost === null || Array.isArray(cost)) return false
  const all = Object.entries(cost)
  return (
    all.length > 0 &&
    all.every(([name, units]) => isUnits(units) && (uses === undefined || isFor(uses, name, units)))
  )
}

/** Whether one of the policies has this name and accepts this cost. */
function isFor(uses: readonly PolicyUse[], name: string, units: number): boolean {
  const use = uses.find(({ policy }) => policy.name === name)
  return use !== undefined && (units <= 1 || use.policy.kernel?.traits.blocks !== true)
}

function isUnits(units: unknown): boolean {
  return Number.isSafeInteger(units) && (units as number) >= 0
}

/** Has one of these: a policy that is the same for all requests, or a function that returns the
 *  policy of each request or key. */
export interface PolicySource<Req, Rest extends unknown[]> {
  readonly fixed?: PolicyInput
  readonly of?: Asked<Req, Rest, PolicyInput>
  readonly ofKey?: PolicyOfKey<Chosen>
}

type Chosen = PolicyInput | Promise<PolicyInput>

/**
 * What requests may take, from the options `policy` or `limit` and `window`. A bucket that decides
 * alone reserves turns as far ahead as requests `wait`.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_INVALID_DURATION
 */
export function policySource<Req, Rest extends unknown[]>(
  options: LimitOptions<Req, Rest>,
  name: string | undefined,
): PolicySource<Req, Rest> {
  const { policy, limit, window } = options
  if ((policy === undefined) === (limit === undefined && window === undefined)) {
    const given = `policy is ${quote(policy)}, limit ${quote(limit)}, window ${quote(window)}`
    throw typeError('WEIR_INVALID_OPTION', `give either policy or limit and window; ${given}`)
  }
  if (typeof policy === 'function') {
    const ofKey = policy as Partial<PolicyOfKey<Chosen>>
    return ofKey.takesKey === true ? { ofKey: ofKey as PolicyOfKey<Chosen> } : { of: policy }
  }
  if (policy !== undefined) return { fixed: reserving(policy, waitMsOf(options)) }
  // Named after the limiter, so that the count goes on when the limit changes, and headers show the
  // name that users chose.
  if (typeof limit !== 'function' && typeof window !== 'function')
    return { fixed: slidingWindow({ name, limit, window }) }
  const windowOf = windowsByNumbers(name)
  return {
    of: (...request) =>
      whenKnown(forRequest(limit, request), (units) =>
        whenKnown(forRequest(window, request), (span) => windowOf(units, span)),
      ),
  }
}

/** Whether requests may take slots: if a function chooses their policies, they may. */
export function mayHoldSlots<Req, Rest extends unknown[]>(
  { policy }: LimitOptions<Req, Rest>,
  { fixed }: PolicySource<Req, Rest>,
): boolean {
  if (fixed === undefined) return policy !== undefined
  return checkedUses(fixed, 'policy').some((use) => isHeld(use.policy))
}

/** Leaves what is not a policy as it is, for the limiter to refuse. */
function reserving(input: PolicyInput, waitMs: number): PolicyInput {
  if (Array.isArray(input)) return input.length === 1 ? [reservingUse(input[0], waitMs)] : input
  return reservingUse(input as Policy, waitMs) as Policy
}

function reservingUse(use: Policy | PolicyUse, waitMs: number): Policy | PolicyUse {
  if (isPolicy(use)) return reservingAhead(use, waitMs)
  const { policy } = (use ?? {}) as Partial<PolicyUse>
  return isPolicy(policy) ? { ...use, policy: reservingAhead(policy, waitMs) } : use
}

function forRequest<Req, Rest extends unknown[], Value extends string | number>(
  value: Value | Asked<Req, Rest, Value>,
  request: [request: Req, ...rest: Rest],
): Awaitable<Value> {
  return typeof value === 'function' ? value(...request) : value
}

/** The names of a limiter's policies. `limiter`: the name that the user gave it. */
export function policyNames(policies: PolicyInput, limiter: string | undefined): readonly string[] {
  return usesIn(policies, limiter).map(({ policy }) => policy.name)
}

/** A limiter's policies, with the names that it gives them. */
function usesIn(policies: PolicyInput, limiter: string | undefined): readonly PolicyUse[] {
  return usesOf(policies, { limiter: limiter ?? 'default', isNamed: limiter !== undefined })
}

const MAX_WINDOWS = 1_000

/** Tiers are few, but numbers that come from requests must not pile up. */
function windowsByNumbers(name: string | undefined): (limit: number, window: Duration) => Policy {
  const known = new Recent<Policy>(MAX_WINDOWS)
  return (limit, window) => {
    const numbers = `${typeof limit} ${limit} ${typeof window} ${window}`
    let policy = known.get(numbers)
    if (policy === undefined) {
      policy = slidingWindow({ name, limit, window: durationMs(window, 'window') })
      known.set(numbers, policy)
    }
    return policy
  }
}
