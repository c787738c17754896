// The last step: what a decision means to the request and its response.

import type { Decision } from '../decision.js'
import type { RateLimiter } from '../limiter.js'
import type { HttpAdapter, Verdict } from './adapter.js'
import { headerFormats, type LimitOptions } from './options.js'
import { tell, tellerOf, withDecision } from './placed.js'
import { settleRefund } from './refund.js'
import { badCost, denial, type Refusal } from './refusal.js'
import { retryAfterSeconds } from './row.js'

/** `sound`: the cost was one, and not charged as 1 because it was none. */
export type Answer<Req, Res> = (
  request: Req,
  response: Res | undefined,
  decision: Decision,
  sound: boolean,
) => Verdict

export function answering<Req, Res>(
  options: LimitOptions<Req>,
  limiter: RateLimiter,
  adapter: HttpAdapter<Req, Res>,
): Answer<Req, Res> {
  const { refundWhen, shadow = false } = options
  const teller = tellerOf(limiter.name, headerFormats(options.headers), options.hide ?? [])

  return (request, response, decision, sound) => {
    const placed = withDecision(adapter.placed(request), decision, teller)
    adapter.place(request, placed)
    if (response !== undefined) {
      if (!adapter.headersSent(response)) tell(placed, teller, response, adapter.setHeader)
      if (refundWhen !== undefined && decision.allowed && sound) {
        adapter.afterResponse(response, (outcome) => {
          void settleRefund(limiter, decision, refundWhen, request, outcome)
        })
      }
    }
    if (shadow || (decision.allowed && sound)) return undefined
    const refusal = decision.allowed ? badCost(decision) : denial(decision, request, options, teller.hidden)
    return sealed(refusal, response, adapter)
  }
}

/** Puts the headers of a refusal on the response: when to come again, and that no cache may keep it. */
export function sealed<Req, Res>(
  refusal: Refusal,
  response: Res | undefined,
  adapter: HttpAdapter<Req, Res>,
): Refusal {
  if (response === undefined || adapter.headersSent(response)) return refusal
  const { decision } = refusal
  const wait = decision?.allowed === false ? retryAfterSeconds(decision.retryAfterMs) : undefined
  if (wait !== undefined) adapter.setHeader(response, 'Retry-After', String(wait))
  adapter.setHeader(response, 'Cache-Control', 'no-store')
  return refusal
}
