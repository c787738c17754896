// Giving a request's cost back once its response is known.

import type { Decision } from '../decision.js'
import { quote } from '../errors.js'
import type { RateLimiter } from '../limiter.js'
import { warnOnce } from '../warnings.js'

/** How a response ended. */
export interface ResponseOutcome {
  /** The status that was sent, or would have been. */
  readonly status: number
  /** False: the connection closed before the whole response was handed over, so the status may not have been sent. */
  readonly finished: boolean
}

/** Whether the request's cost is to be given back. Asked once, when the response has ended or its connection has closed. */
export type RefundWhen<Req> = (request: Req, outcome: ResponseOutcome) => boolean | PromiseLike<boolean>

/** Never rejects: the response has long been sent, so a failure can only be warned of. */
export async function settleRefund<Req>(
  limiter: RateLimiter,
  decision: Decision,
  refundWhen: RefundWhen<Req>,
  request: Req,
  outcome: ResponseOutcome,
): Promise<void> {
  try {
    if (await refundWhen(request, outcome)) await limiter.refund(decision)
  } catch (error) {
    const { name } = limiter
    warnOnce(
      'WEIR_REFUND_FAILED',
      name,
      `a refund of limiter "${name}" failed, so the cost stays charged: ${quote(error)}`,
    )
  }
}

/** The part of a Node response that tells when it is over. */
export interface NodeResponse {
  readonly statusCode: number
  readonly writableFinished: boolean
  readonly closed?: boolean
  once(event: 'close', listener: () => void): unknown
}

/**
 * Calls back once when a Node response has ended, in whatever way: sent whole, cut off, aborted, or never begun. For
 * adapters, as their `afterResponse`.
 */
export function afterNodeResponse(response: NodeResponse, done: (outcome: ResponseOutcome) => void): void {
  const end = () => done({ status: response.statusCode, finished: response.writableFinished })
  // A client that left while its decision was on the way has closed the response already: no event will come.
  if (response.closed) end()
  else response.once('close', end)
}
