// The last step: what a decision means to the request and its response.

import { whenKnown } from '../base/maybe-async.js'
import type { Time } from '../base/time.js'
import type { Decision } from '../limiter/decision.js'
import type { RateLimiter } from '../limiter/limiter.js'
import { type Holder, holders } from '../limiter/slots/held.js'
import type { HttpAdapter, Verdict } from './adapter.js'
import { checkSecondPass } from './client/warnings.js'
import { type Consumed, InvalidCost, Undecided } from './consume.js'
import { headerFormats } from './option-checks.js'
import type { LimitOptions } from './options.js'
import { canSeeEnd, type ResponseOutcome } from './response/ending.js'
import { holdUntilEnd } from './response/in-progress.js'
import { refundEarlier, refundIf, settleAs } from './response/refund.js'
import { clientLeft, denial, invalidCost, type Refusal } from './response/refusal.js'
import {
  decisionBy,
  isCarried,
  type RequestDecision,
  responseSettings,
  withDecision,
  withHold,
} from './response/request-decision.js'
import { longestWaitMs, violatedNames, writeHeaders, writeRefusal } from './response/shown.js'

export type Respond<Req, Res, Rest extends unknown[]> = (
  request: Req,
  response: Res | undefined,
  consumed: Consumed,
  rest: Rest,
) => Verdict | Promise<Verdict>

/** Makes the function that places the decision, sets the headers, and says what becomes of the
 *  request. */
export function responder<Req, Res, Rest extends unknown[]>(
  time: Time,
  options: LimitOptions<Req, Rest>,
  limiter: RateLimiter,
  adapter: HttpAdapter<Req, Res, Rest>,
  shown: string = limiter.name,
): Respond<Req, Res, Rest> {
  const { requestProperty = 'rateLimit', hide = [], shadow = false } = options
  const carriedBy = carrier(adapter, requestProperty)
  const refunds = options.refundWhenRefused ? limiter : undefined
  const formats = headerFormats(options.headers)
  const settings = responseSettings(shown, formats, hide, shadow, refunds)
  const correctLater = corrector(options, limiter, adapter)
  const who = `limiter "${limiter.name}"`
  const hold = holdUntilEnd(options, holders.get(limiter) as Holder, adapter, who)

  return (request, response, consumed, rest) => {
    if (consumed instanceof Undecided) {
      if (!adapter.isShared?.(request, rest)) refundEarlier(carriedBy(request, rest), undefined)
      return setRefusalHeaders(consumed.refusal, response, adapter)
    }
    const isInvalid = consumed instanceof InvalidCost
    const decision = isInvalid ? consumed.decision : consumed
    const before = carriedBy(request, rest)
    if (adapter.isMiddleware && before !== undefined) {
      const first = decisionBy(before, settings)
      if (first !== undefined) checkSecondPass(limiter.name, first, decision)
    }
    const goesOn = decision.allowed && !isInvalid
    const isHeld = goesOn || (decision.allowed && shadow)
    const held = (isHeld ? hold(request, response, decision, rest) : undefined) ?? before?.held
    const placed = withHold(withDecision(before, decision, settings), held)
    adapter.place(request, placed, rest, requestProperty)
    if (response !== undefined) {
      if (!adapter.headersSent(response))
        writeHeaders(time, placed, settings, response, adapter.setHeader, adapter.removeHeader)
      if (goesOn) correctLater?.(request, response, decision, rest)
    }
    // The client has left. A limiter in shadow mode goes by the slots of other limiters.
    if ((goesOn || shadow) && held?.isOver) return clientLeft()
    if (shadow || goesOn) return undefined
    if (isInvalid) void limiter.release(decision).catch(() => {})
    if (!adapter.isShared?.(request, rest)) refundEarlier(placed, settings)
    if (decision.allowed) return setRefusalHeaders(invalidCost(decision), response, adapter)
    const waitMs = longestWaitMs(placed)
    const violated = violatedNames(placed, decision, settings)
    return whenKnown(denial(decision, { waitMs, violated }, options, request, rest), (refusal) =>
      setRefusalHeaders(refusal, response, adapter),
    )
  }
}

/** Gives back or settles what an allowed request was charged, once its response has ended.
 *  Undefined where the options ask for neither. */
function corrector<Req, Res, Rest extends unknown[]>(
  { refundWhen, settle }: LimitOptions<Req, Rest>,
  limiter: RateLimiter,
  { afterResponse }: HttpAdapter<Req, Res, Rest>,
): ((request: Req, response: Res, decision: Decision, rest: Rest) => void) | undefined {
  if (refundWhen === undefined && settle === undefined) return undefined
  return (request, response, decision, rest) => {
    async function correct(outcome: ResponseOutcome): Promise<void> {
      const isBack = refundWhen && (() => refundWhen(request, outcome, ...rest))
      if (isBack !== undefined && !(await refundIf(isBack, limiter, decision))) return
      if (settle !== undefined)
        await settleAs(() => settle(request, outcome, ...rest), limiter, decision)
    }
    canSeeEnd(afterResponse, response, correct, `limiter "${limiter.name}"`, 'corrects no charge')
  }
}

/** The names under which limiters of this process place decisions: one, unless options name
 *  others. */
const places: string[] = []

/**
 * Makes the function that finds the decision that a request carries, wherever limiters with other
 * options have placed it: headers show all limiters.
 */
function carrier<Req, Rest extends unknown[]>(
  { placed }: Pick<HttpAdapter<Req, never, Rest>, 'placed'>,
  own: string,
): (request: Req, rest: Rest) => RequestDecision | undefined {
  if (!places.includes(own)) places.push(own)
  return (request, rest) => {
    let last: RequestDecision | undefined
    for (let i = 0; i < places.length; i += 1)
      last = later(last, placed(request, rest, places[i] as string))
    return last
  }
}

/** Each limiter adds its decision to those before, so the longest list is the latest. */
function later(last: RequestDecision | undefined, found: unknown): RequestDecision | undefined {
  return isCarried(found) && !(last && last.all.length >= found.all.length) ? found : last
}

/**
 * Gives back what earlier limiters with `refundWhenRefused` have charged. For code that refuses a
 * request and is no limiter.
 * @param holder the object on which they place their decisions: the request, or `ctx.state`
 */
export function refundCharged(holder: object): void {
  let last: RequestDecision | undefined
  for (const property of places) last = later(last, (holder as Record<string, unknown>)[property])
  refundEarlier(last, undefined)
}

/** Sets the headers of a refusal, where there still is a response to set them on. */
function setRefusalHeaders<Res>(
  refusal: Refusal,
  response: Res | undefined,
  { headersSent, setHeader }: Pick<HttpAdapter<never, Res>, 'headersSent' | 'setHeader'>,
): Refusal {
  if (response !== undefined && !headersSent(response))
    writeRefusal(refusal.retryAfterMs ?? Number.POSITIVE_INFINITY, response, setHeader)
  return refusal
}
