// The last step: what a decision means to the request and its response.

import { whenKnown } from '../base/maybe-async.js'
import type { RateLimiter } from '../limiter/limiter.js'
import type { HttpAdapter, Verdict } from './adapter.js'
import { type Consumed, InvalidCost } from './consume.js'
import { headerFormats, type LimitOptions } from './options.js'
import { retryAfterSeconds } from './response/headers.js'
import { refundIf } from './response/refund.js'
import { denial, invalidCost, type Refusal } from './response/refusal.js'
import {
  longestWaitMs,
  responseSettings,
  violatedNames,
  withDecision,
  writeHeaders,
} from './response/request-decision.js'

export type Respond<Req, Res, Rest extends unknown[]> = (
  request: Req,
  response: Res | undefined,
  consumed: Consumed,
  rest: Rest,
) => Verdict | Promise<Verdict>

export function responder<Req, Res, Rest extends unknown[]>(
  options: LimitOptions<Req, Rest>,
  limiter: RateLimiter,
  adapter: HttpAdapter<Req, Res, Rest>,
  shown: string = limiter.name,
): Respond<Req, Res, Rest> {
  const { refundWhen, hide = [], shadow = false } = options
  const settings = responseSettings(shown, headerFormats(options.headers), hide, shadow)

  return (request, response, consumed, rest) => {
    const isInvalid = consumed instanceof InvalidCost
    const decision = isInvalid ? consumed.decision : consumed
    const placed = withDecision(adapter.placed(request, rest), decision, settings)
    adapter.place(request, placed, rest)
    if (response !== undefined) {
      if (!adapter.headersSent(response))
        writeHeaders(placed, settings, response, adapter.setHeader)
      if (refundWhen !== undefined && decision.allowed && !isInvalid) {
        adapter.afterResponse(response, (outcome) => {
          void refundIf(() => refundWhen(request, outcome, ...rest), limiter, decision)
        })
      }
    }
    if (shadow || (decision.allowed && !isInvalid)) return undefined
    if (decision.allowed) return setRefusalHeaders(invalidCost(decision), response, adapter)
    const details = {
      waitMs: longestWaitMs(placed),
      violated: violatedNames(placed, decision, settings),
    }
    return whenKnown(denial(decision, details, options, request, rest), (refusal) =>
      setRefusalHeaders(refusal, response, adapter),
    )
  }
}

/** Sets the headers of a refusal: when to come again, and that no cache may keep it. */
export function setRefusalHeaders<Res>(
  refusal: Refusal,
  response: Res | undefined,
  { headersSent, setHeader }: Pick<HttpAdapter<never, Res>, 'headersSent' | 'setHeader'>,
): Refusal {
  if (response === undefined || headersSent(response)) return refusal
  const wait = retryAfterSeconds(refusal.retryAfterMs ?? Number.POSITIVE_INFINITY)
  if (wait !== undefined) setHeader(response, 'Retry-After', String(wait))
  setHeader(response, 'Cache-Control', 'no-store')
  return refusal
}
