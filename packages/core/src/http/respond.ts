// The last step: what a decision means to the request and its response.

import { whenKnown } from '../base/maybe-async.js'
import type { Decision } from '../limiter/decision.js'
import type { RateLimiter } from '../limiter/limiter.js'
import type { HttpAdapter, Verdict } from './adapter.js'
import { headerFormats, type LimitOptions } from './options.js'
import { retryAfterSeconds } from './response/header-item.js'
import { settleRefund } from './response/refund.js'
import { denial, invalidCost, type Refusal } from './response/refusal.js'
import {
  longestWaitMs,
  responseSettings,
  violatedNames,
  withDecision,
  writeHeaders,
} from './response/request-decision.js'

/** `validCost`: the cost was one, and not charged as 1 because it was none. */
export type Respond<Req, Res, Rest extends unknown[]> = (
  request: Req,
  response: Res | undefined,
  decision: Decision,
  validCost: boolean,
  rest: Rest,
) => Verdict | Promise<Verdict>

export function responder<Req, Res, Rest extends unknown[]>(
  options: LimitOptions<Req, Rest>,
  limiter: RateLimiter,
  adapter: HttpAdapter<Req, Res, Rest>,
): Respond<Req, Res, Rest> {
  const { refundWhen, shadow = false } = options
  const own = responseSettings(
    limiter.name,
    headerFormats(options.headers),
    options.hide ?? [],
    shadow,
  )

  return (request, response, decision, validCost, rest) => {
    const placed = withDecision(adapter.placed(request, rest), decision, own)
    adapter.place(request, placed, rest)
    if (response !== undefined) {
      if (!adapter.headersSent(response)) writeHeaders(placed, own, response, adapter.setHeader)
      if (refundWhen !== undefined && decision.allowed && validCost) {
        adapter.afterResponse(response, (outcome) => {
          void settleRefund(limiter, decision, () => refundWhen(request, outcome, ...rest))
        })
      }
    }
    if (shadow || (decision.allowed && validCost)) return undefined
    if (decision.allowed) return setRefusalHeaders(invalidCost(decision), response, adapter)
    const details = {
      waitMs: longestWaitMs(placed),
      violated: violatedNames(placed, decision, own),
    }
    return whenKnown(denial(decision, details, options, request, rest), (refusal) =>
      setRefusalHeaders(refusal, response, adapter),
    )
  }
}

/** Puts the headers of a refusal on the response: when to come again, and that no cache may keep it. */
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
