// What a framework must be able to do for Weir. An adapter translates; what things mean is decided
// here in core/http.

import type { ResponseOutcome } from './response/ending.js'
import type { Refusal } from './response/refusal.js'
import type { RequestDecision } from './response/request-decision.js'

/**
 * Which proxies the framework trusts for the client's address:
 * - `nobody`: forwarding headers are ignored
 * - `listed`: proxies that were named, or it cannot be found out
 * - `everybody`: any client can forge its address
 * - `inert`: something is set, but by this framework's rules it trusts nobody
 */
export type Trust = 'nobody' | 'listed' | 'everybody' | 'inert'

/**
 * How to read a framework's request and write its response. The functions are called on their own,
 * so they must not use `this`. `Rest`: the arguments of the options' functions besides the request.
 * @experimental
 */
export interface HttpAdapter<Req, Res, Rest extends unknown[] = []> {
  /** True: limiters are made at start, and a request passes each of them once. Anything else is
   *  warned of. */
  readonly isMiddleware?: boolean
  /** The client's address, by the framework's own proxy settings. */
  address(request: Req): string | undefined
  /** The other end of the connection. */
  peer(request: Req): string | undefined
  trust(request: Req): Trust
  /** Method in upper case; `''` where there is none. */
  method(request: Req): string
  /** Path and query. Only to find out whether limiters are made by requests that are the same. */
  url?(request: Req): string
  /** A header by its lower-case name; several lines of it joined by commas. */
  header(request: Req, name: string): string | undefined
  /** All headers, by lower-case names. It spares calls of `header` where several are looked for. */
  headers?(request: Req): Readonly<Record<string, unknown>>
  /** What is found where users of the framework look for the decision, under this name: what
   *  `place` put there, or anybody else. */
  placed(request: Req, rest: Rest, property: string): unknown
  place(request: Req, decision: RequestDecision, rest: Rest, property: string): void
  /** True: the request is of several calls, each of which is limited, as of many fields of GraphQL.
   *  What earlier limiters charged may have been for another of them, so it is not given back. */
  isShared?(request: Req, rest: Rest): boolean
  headersSent(response: Res): boolean
  /** Replaces the header. */
  setHeader(response: Res, name: string, value: string): void
  /** Calls back exactly once, when the response has ended or its connection has closed: see
   *  `afterNodeResponse`. */
  afterResponse(response: Res, done: (outcome: ResponseOutcome) => void): void
  /** Closes the connection of a response, or its stream. Missing: what takes too long goes on. */
  cutOff?(response: Res): void
  /** What the request is called where its handler begins: see `beginHandler`. Default: the
   *  request. */
  call?(request: Req, rest: Rest): object
}

/** What comes of a request: it goes on (`undefined`), or it is to be refused. */
export type Verdict = Refusal | undefined

/**
 * Limits a request: places the decision on it and sets the headers of its response. Answers at once
 * where key, cost, policy, skip and the store do. Where there is no response (a message on a
 * socket), give `undefined`.
 * @throws (or rejects) what the options' functions throw, and a `StoreError` if the store cannot
 * decide
 */
export type Check<Req, Res, Rest extends unknown[] = []> = (
  request: Req,
  response: Res | undefined,
  ...rest: Rest
) => Verdict | Promise<Verdict>
