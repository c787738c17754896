// Overload protection over HTTP: a limit on the requests in flight in this process, ahead of
// everything that costs something.

import { type Duration, durationMs } from '../base/duration.js'
import { type Checks, checkAll, ofType, unchecked } from '../base/options.js'
import { processTime, type Time } from '../base/time.js'
import { checkReserve } from '../limiter/priority.js'
import { inFlightLimit } from '../overload/in-flight.js'
import type { ResponseSignal } from '../overload/signals.js'
import { asThrown } from './http-limiter.js'
import { checkCalled } from './option-checks.js'
import { type ClassOptions, type OverloadPriority, overloadClasses } from './overload-classes.js'
import { refundCharged } from './respond.js'
import {
  afterNodeResponse,
  canSeeEnd,
  type NodeResponse,
  type ResponseOutcome,
} from './response/ending.js'
import { retryAfterSeconds } from './response/headers.js'
import { overloaded, type Refusal } from './response/refusal.js'

/** The part of a Node request that is read, HTTP/1 or HTTP/2. */
export interface NodeServerRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** `Req`: the request that `priority` is called with. `Class`: the names of the classes in
 *  `reserve`. */
export interface OverloadOptions<Req = NodeServerRequest, Class extends string = string>
  extends ClassOptions<Req, Class> {
  /** The mean response time to keep to under load. Default: about a quarter longer than without
   *  load, which Weir finds out. */
  readonly target?: Duration | undefined
}

/** What overload protection knows about its process. */
export interface OverloadState {
  /** The most requests that may be in flight. */
  readonly limit: number
  /** Requests in flight. */
  readonly inFlight: number
  /** Requests refused since the start. */
  readonly refused: number
  /** Mean response time where nothing queues, in ms; undefined: not known yet. */
  readonly baselineMs: number | undefined
  /** What became of each class's requests; empty without `reserve`. */
  readonly priorities: readonly OverloadPriority[]
}

/** For adapters: lets requests in, or refuses them. */
export interface OverloadGuard<Req> extends OverloadState {
  /**
   * To be called once for each request. Undefined: the request goes on, and counts until its
   * response has ended.
   * @param request the request that `priority` is called with
   * @throws what `priority` throws
   */
  admit(request: Req, response: NodeResponse): Refusal | undefined
}

const CHECKS: Checks<OverloadOptions<never>> = {
  target: unchecked,
  reserve: checkReserve,
  priority: ofType('function'),
}

/** Retry-After is a random time up to this, so that clients do not come back all at once. */
const LONGEST_RETRY_MS = 3_000

/**
 * A limit on the requests in flight, for adapters of frameworks.
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 */
export function overloadGuard<Req, Class extends string = never>(
  options: OverloadOptions<Req, Class> = {},
): OverloadGuard<Req> {
  return overloadGuardIn(processTime, options)
}

/** `overloadGuard` by another clock than the process's. */
export function overloadGuardIn<Req, Class extends string = never>(
  time: Time,
  options: OverloadOptions<Req, Class>,
): OverloadGuard<Req> {
  checkCalled(options, 'overload', 'overload()')
  checkAll(options, 'overload()', CHECKS)
  const { target } = options
  const targetMs = target === undefined ? undefined : durationMs(target, 'target')
  const limit = inFlightLimit(targetMs, time)
  const classes = overloadClasses(options)
  let refused = 0
  return {
    get limit() {
      return limit.limit
    },
    get inFlight() {
      return limit.inFlight
    },
    get refused() {
      return refused
    },
    get baselineMs() {
      return limit.baselineMs
    },
    get priorities() {
      return classes.all.map(({ priority, admitted, refused }) => {
        return { priority, admitted, refused }
      })
    },
    admit(request, response) {
      const each = classes.of(request)
      const ticket = limit.enter(each?.reserve)
      if (each !== undefined) each[ticket === undefined ? 'refused' : 'admitted'] += 1
      if (ticket === undefined) {
        refused += 1
        return overloaded(time.random() * LONGEST_RETRY_MS)
      }
      const over = ({ finished }: ResponseOutcome): void =>
        limit.leave(ticket, finished ? 'finished' : 'left')
      if (!canSeeEnd(afterNodeResponse, response, over, 'overload()', 'counts no request'))
        limit.leave(ticket, 'unknown')
      return undefined
    },
  }
}

/** A Node response, HTTP/1 or HTTP/2, such as Express's. */
export interface NodeServerResponse extends NodeResponse {
  statusCode: number
  readonly headersSent: boolean
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

type NodeMiddleware = (
  request: object,
  response: NodeServerResponse,
  next: (error?: unknown) => void,
) => void

/** The middleware, with its state. */
export interface Overload extends NodeMiddleware, OverloadState {}

/**
 * Refuses requests with 503 while more are in flight than the process can serve without a queue. It
 * finds out how many that is, in memory. Mount it before all other middlewares.
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example app.use(overload())
 */
export function overload<Req extends object = NodeServerRequest, Class extends string = never>(
  options: OverloadOptions<Req, Class> = {},
): Overload {
  const guard = overloadGuard(options)
  const handle: NodeMiddleware = (request, response, next) => {
    let refusal: Refusal | undefined
    try {
      if (!response.headersSent) refusal = guard.admit(request as Req, response)
    } catch (error) {
      next(asThrown(error))
      return
    }
    if (refusal === undefined) {
      next()
      return
    }
    refundCharged(request)
    const headers = Object.entries(overloadHeaders(refusal))
    for (const [name, value] of headers) response.setHeader(name, value)
    response.statusCode = refusal.status
    response.end(refusal.body)
  }
  return withState(handle, guard)
}

/** Adds the state of a guard to its middleware. For adapters. */
export function withState<Middleware extends object>(
  middleware: Middleware,
  guard: OverloadState,
): Middleware & OverloadState {
  const names = ['limit', 'inFlight', 'refused', 'baselineMs', 'priorities'] as const
  for (const name of names) Object.defineProperty(middleware, name, { get: () => guard[name] })
  return middleware as Middleware & OverloadState
}

/** The headers of a refused request. For adapters. */
export function overloadHeaders(refusal: Refusal): Readonly<Record<string, string>> {
  const { mediaType, retryAfterMs = 1_000 } = refusal
  return {
    'Content-Type': mediaType,
    'Cache-Control': 'no-store',
    'Retry-After': String(retryAfterSeconds(retryAfterMs)),
  }
}

/**
 * Reports each response to a signal: how long it took, and whether its status is 500 or above. A
 * client that left first counts as a slow response if it waited longer than `latency`.
 * @experimental
 * @example
 * const signal = responses({ latency: '200ms' })
 * app.use(recordResponses(signal))
 */
export function recordResponses(signal: ResponseSignal): NodeMiddleware {
  return (_request, response, next) => {
    recordResponse(signal, response)
    next()
  }
}

/**
 * Reports one response to a signal, once it has ended. For adapters.
 * @experimental
 */
export function recordResponse(signal: ResponseSignal, response: NodeResponse): void {
  recordResponseIn(processTime, signal, response)
}

/** `recordResponse` by another clock than the process's. */
export function recordResponseIn(time: Time, signal: ResponseSignal, response: NodeResponse): void {
  const startMs = time.nowMs()
  function over({ status, finished }: ResponseOutcome): void {
    const tookMs = time.nowMs() - startMs
    if (finished) signal.record(tookMs, status >= 500)
    else signal.left(tookMs)
  }
  canSeeEnd(afterNodeResponse, response, over, 'recordResponses()', 'records no response')
}
