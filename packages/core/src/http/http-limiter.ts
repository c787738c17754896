// What a rate limit means to an HTTP request, once for all frameworks. Three steps: identify says
// whether the request is limited and by which key, consume gets the decision, respond applies the
// decision to the response. A framework's adapter reads requests and writes responses, and decides
// nothing.

import { quote, typeError } from '../base/errors.js'
import { isPromise } from '../base/maybe-async.js'
import { processTime, type Time } from '../base/time.js'
import { warnOnce } from '../base/warnings.js'
import { countersOfLimiter } from '../limiter/counters.js'
import { inTime, RateLimiter } from '../limiter/limiter.js'
import type { RateLimiterOptions } from '../limiter/options.js'
import { policyOfRequests } from '../limiter/policy-choice.js'
import type { Key } from '../policy-input.js'
import type { Check, HttpAdapter, Verdict } from './adapter.js'
import { AddressLimiter } from './client/address-limiter.js'
import { noticeMadeInRequest, noticeUsedAgain, warnOfMemoryAmongMany } from './client/warnings.js'
import { consumer, mayHoldSlots, policyNames, policySource, Undecided } from './consume.js'
import { identifier } from './identify.js'
import { checkIdle, checkOptions } from './option-checks.js'
import type { LimitOptions, LimitSettings } from './options.js'
import { responder } from './respond.js'
import type { Refusal } from './response/refusal.js'

export interface HttpLimiter<Req, Res, Rest extends unknown[] = []> {
  /** To peek, refund, penalise or reset a key, to switch the limiter off, or to close it. Where it
   *  counts by address, its methods take addresses as they are. */
  readonly limiter: RateLimiter
  readonly check: Check<Req, Res, Rest>
  /** Whether requests may hold slots, which they keep until their handlers have ended. */
  readonly mayHold: boolean
}

/**
 * A limiter of requests, for adapters of frameworks.
 * @experimental
 * @param shown the name that clients see, where the limiter's own is not for them
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, and what names and policies throw
 */
export function httpLimiter<Req, Res, Rest extends unknown[] = []>(
  options: LimitOptions<Req, Rest>,
  adapter: HttpAdapter<Req, Res, Rest>,
  shown?: string,
): HttpLimiter<Req, Res, Rest> {
  return httpLimiterIn(processTime, options, adapter, shown)
}

/** `httpLimiter` by another clock than the process's. */
export function httpLimiterIn<Req, Res, Rest extends unknown[] = []>(
  time: Time,
  options: LimitOptions<Req, Rest>,
  adapter: HttpAdapter<Req, Res, Rest>,
  shown?: string,
): HttpLimiter<Req, Res, Rest> {
  checkOptions(options)
  if (adapter.isMiddleware) checkIdle(options)
  const source = policySource(options, shown ?? options.name)
  const limiter = limiterOf(time, options, source.fixed ?? source.ofKey)
  if (source.fixed !== undefined)
    checkHidden(options.hide ?? [], policyNames(source.fixed, options.name))
  const mayHold = mayHoldSlots(options, source)
  if (adapter.isMiddleware && !mayHold) checkHoldsNothing(options)
  const respond = responder(time, options, limiter, adapter, shown)
  const consume = consumer(options, limiter, source, adapter)
  const counters = countersOfLimiter(limiter)
  counters.isShadow = options.shadow === true
  const identify = identifier(options, limiter.name, adapter, counters.undecided)
  // Called by the next request, if any. A request that comes before this turn of the event loop is
  // over has made the limiter. On a store of the user's, such a limiter counts with the others, so
  // nothing is wrong.
  let notice: typeof noticeMadeInRequest<Req> | undefined
  if (adapter.isMiddleware && options.store === undefined) {
    notice = noticeMadeInRequest
    void Promise.resolve().then(() => {
      if (notice === noticeMadeInRequest) notice = undefined
    })
  }
  const failed = options.shadow ? warnInShadow(limiter.name) : rethrow

  function limit(
    request: Req,
    response: Res | undefined,
    client: Key | Refusal | undefined,
    rest: Rest,
  ): Verdict | Promise<Verdict> {
    if (client === undefined) return undefined
    if (typeof client === 'object') return respond(request, response, new Undecided(client), rest)
    const consumed = consume(request, response, client, rest)
    return isPromise(consumed)
      ? consumed.then((known) => respond(request, response, known, rest))
      : respond(request, response, consumed, rest)
  }

  const check: Check<Req, Res, Rest> = (request, response, ...rest) => {
    if (notice !== undefined) {
      notice(request, adapter)
      notice = notice === noticeMadeInRequest ? noticeUsedAgain : undefined
    }
    try {
      const client = identify(request, rest)
      const verdict = isPromise(client)
        ? client.then((known) => limit(request, response, known, rest))
        : limit(request, response, client, rest)
      return isPromise(verdict) ? verdict.then(undefined, failed) : verdict
    } catch (error) {
      return failed(error)
    }
  }

  return { limiter, check, mayHold }
}

function limiterOf(
  time: Time,
  options: LimitSettings<never, never>,
  own: RateLimiterOptions['policy'] | undefined,
): RateLimiter {
  const { name, store, onDecision, whenPolicyFails, whenUnavailable, shared } = options
  const { maxWaiting, reserve, onCrossing } = options
  const policy = own ?? policyOfRequests
  const settings = { name, store, onDecision, whenPolicyFails, whenUnavailable, shared }
  const all = inTime(time, { ...settings, policy, maxWaiting, reserve, onCrossing })
  const limiter =
    options.key === undefined ? new AddressLimiter(all, options) : new RateLimiter(all)
  warnOfMemoryAmongMany(limiter.store)
  return limiter
}

/** @throws {TypeError} WEIR_INVALID_OPTION for options that do nothing without slots */
function checkHoldsNothing(options: LimitSettings<never, never>): void {
  for (const name of ['maxHold', 'onExpiry'] as const) {
    if (options[name] === undefined) continue
    const right = 'give concurrency({...}) among its policies'
    throw typeError('WEIR_INVALID_OPTION', `${name} does nothing without slots; ${right}`)
  }
}

/** A misspelt name would show the policy that it was meant to hide. */
function checkHidden(hide: readonly string[], names: readonly string[]): void {
  const [unknown] = hide.filter((name) => !names.includes(name)).map(quote)
  if (unknown === undefined) return
  const what = `hide has ${unknown}, but there is no such policy`
  throw typeError('WEIR_INVALID_OPTION', `${what}; there are ${names.join(', ')}`)
}

/** Shadow mode must not break what it watches. */
function warnInShadow(name: string): (error: unknown) => undefined {
  return (error) => {
    const what = `limiter "${name}" could not decide in shadow mode`
    warnOnce('WEIR_SHADOW_FAILED', name, `${what}: ${quote(error)}`)
  }
}

function rethrow(error: unknown): never {
  throw asThrown(error)
}

/**
 * Turns what was thrown into something that a framework takes for an error: with `next(undefined)`
 * and `next('route')`, Express would let the request go on, and Koa would never answer it. For
 * adapters, around users' functions that they call themselves.
 */
export function asThrown(error: unknown): object {
  if (typeof error === 'object' && error !== null) return error
  const message = `a function of the options threw ${quote(error)}; throw an Error`
  return Object.assign(typeError('WEIR_INVALID_OPTION', message), { cause: error })
}
