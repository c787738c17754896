// Giving a request's cost back, or correcting it, once its response is known.

import { quote } from '../../base/errors.js'
import type { Awaitable } from '../../base/maybe-async.js'
import { warnOnce } from '../../base/warnings.js'
import type { Cost } from '../../limiter/costs.js'
import type { Decision } from '../../limiter/decision.js'
import type { RateLimiter } from '../../limiter/limiter.js'

/** How a response ended. */
export interface ResponseOutcome {
  /** The status that was sent, or would have been. */
  readonly status: number
  /** False: the connection closed before the whole response was handed over, so the status may not
   *  have been sent. */
  readonly finished: boolean
}

/**
 * Whether the request's cost is to be given back. Called once, when the response has ended or its
 * connection has closed.
 */
export type RefundWhen<Req, Rest extends unknown[] = []> = (
  request: Req,
  outcome: ResponseOutcome,
  ...rest: Rest
) => Awaitable<boolean>

/**
 * What a request turned out to cost; undefined: as much as was charged. Called once, when the
 * response has ended or its connection has closed.
 */
export type Settle<Req, Rest extends unknown[] = []> = (
  request: Req,
  outcome: ResponseOutcome,
  ...rest: Rest
) => Awaitable<Cost | undefined>

/**
 * Never rejects: the response has long been sent, so of a failure there can only be a warning.
 * Returns whether the cost stays charged.
 */
export async function refundIf(
  isWanted: () => Awaitable<boolean>,
  limiter: RateLimiter,
  decision: Decision,
): Promise<boolean> {
  try {
    if (!(await isWanted())) return true
    await limiter.refund(decision)
  } catch (error) {
    const { name } = limiter
    warnOnce(
      'WEIR_REFUND_FAILED',
      name,
      `a refund of limiter "${name}" failed, so the cost stays charged: ${quote(error)}`,
    )
  }
  return false
}

/** Never rejects, as above. */
export async function settleAs(
  actual: () => Awaitable<Cost | undefined>,
  limiter: RateLimiter,
  decision: Decision,
): Promise<void> {
  try {
    const cost = await actual()
    if (cost !== undefined) await limiter.settle(decision, cost)
  } catch (error) {
    const { name } = limiter
    const what = `a request of limiter "${name}" could not be settled, so what was charged stays`
    warnOnce('WEIR_SETTLE_FAILED', name, `${what}: ${quote(error)}`)
  }
}

/** The part of a Node response that shows when it is over, and how. */
export interface NodeResponse {
  readonly statusCode: number
  readonly writableEnded: boolean
  readonly writableFinished: boolean
  readonly closed?: boolean
  /** HTTP/2 only, where the response itself does not show that it was cut off. */
  readonly stream?: { readonly destroyed?: boolean; readonly rstCode?: number | undefined } | null
  once(event: 'close', listener: () => void): unknown
}

type Done = (outcome: ResponseOutcome) => void

/** Whom to call when a response is over: with a listener for each, Node would warn of a leak. */
const waiting: WeakMap<NodeResponse, Done[]> = new WeakMap()

/**
 * Calls back once when a Node response has ended, in whatever way: sent whole, cut off, aborted, or
 * never begun; over HTTP/1 and HTTP/2. For adapters, as their `afterResponse`.
 */
export function afterNodeResponse(response: NodeResponse, done: Done): void {
  // A client that left while its decision was on the way has closed the response already: no event
  // will come.
  if (response.closed ?? response.stream?.destroyed) {
    done(outcomeOf(response))
    return
  }
  const others = waiting.get(response)
  if (others !== undefined) {
    others.push(done)
    return
  }
  const all = [done]
  waiting.set(response, all)
  response.once('close', () => {
    for (const each of all) each(outcomeOf(response))
  })
}

/** A stream of HTTP/2 that was reset looks as if it was written to its end. */
function outcomeOf({
  statusCode,
  writableEnded,
  writableFinished,
  stream,
}: NodeResponse): ResponseOutcome {
  return { status: statusCode, finished: writableEnded && writableFinished && !stream?.rstCode }
}
