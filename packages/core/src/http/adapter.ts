// What an adapter does for a framework. It only translates; core/http decides what things mean.

import {
  afterNodeResponse,
  cutOffNodeResponse,
  hasNodeConnection,
  type NodeResponse,
  type ResponseOutcome,
} from './response/ending.js'
import type { Refusal } from './response/refusal.js'
import type { RequestDecision } from './response/request-decision.js'

/**
 * Which proxies the framework trusts for the client's address:
 * - `nobody`: forwarding headers are ignored
 * - `listed`: the proxies that were named; also where nothing more can be found out
 * - `everybody`: any client can forge its address
 * - `inert`: something is set, but by this framework's rules it trusts nobody
 */
export type Trust = 'nobody' | 'listed' | 'everybody' | 'inert'

/**
 * How to read a framework's request and write its response: see docs/write-a-store.md. The
 * functions are called without their object, so they must not use `this`. `Rest`: what the options'
 * functions get besides the request. `Res`: the response or, where that is made after the decision,
 * as over Fetch, what stands for it and keeps its headers.
 *
 * @experimental
 */
export interface HttpAdapter<Req, Res, Rest extends unknown[] = []> {
  /** True: limiters are made at start, and a request passes each of them once. Weir warns of
   *  anything else. */
  readonly isMiddleware?: boolean
  /** The client's address, by the framework's proxy settings. */
  address(request: Req): string | undefined
  /** The address of the other end of the connection. */
  peer(request: Req): string | undefined
  /** Which proxies the framework trusts; for warnings only. */
  trust(request: Req): Trust
  /** In upper case; `''` where there is none. */
  method(request: Req): string
  /** Path and query, to find out whether equal requests make a limiter each. */
  url?(request: Req): string
  /** A header by its lower-case name; several lines are joined by commas. */
  header(request: Req, name: string): string | undefined
  /** All headers, by lower-case name, instead of many calls of `header`. */
  headers?(request: Req): Readonly<Record<string, unknown>>
  /** Reads the request's property in which the decision is. */
  placed(request: Req, rest: Rest, property: string): unknown
  /** Sets it. */
  place(request: Req, decision: RequestDecision, rest: Rest, property: string): void
  /** True: the request makes several calls that are limited one by one, such as fields of GraphQL,
   *  so a refusal gives nothing back. */
  isShared?(request: Req, rest: Rest): boolean
  /** Whether it is too late to set headers. */
  headersSent(response: Res): boolean
  /** Replaces the header. */
  setHeader(response: Res, name: string, value: string): void
  /** Removes a header that an earlier limiter has set. Missing: it stays. */
  removeHeader?(response: Res, name: string): void
  /**
   * Calls back exactly once, when the response has ended or its connection has closed: see
   * `afterNodeResponse`. Where `Res` stands for a response: when the body has been read or
   * cancelled, or when the client leaves before.
   */
  afterResponse(response: Res, done: (outcome: ResponseOutcome) => void): void
  /** False: `afterResponse` may never call back, as it is not certain that a response follows, so
   *  slots are not renewed. See `hasNodeConnection`. */
  hasConnection?(response: Res): boolean
  /** Closes the connection or stream. Missing: a response that takes too long goes on. */
  cutOff?(response: Res): void
  /** What the adapter gives to `beginHandler` for this request. Default: the request. */
  call?(request: Req, rest: Rest): object
}

/** What becomes of a request: it goes on (`undefined`), or it is to be refused. */
export type Verdict = Refusal | undefined

/**
 * Limits a request: places the decision on it and sets the headers of its response. Answers at once
 * where key, cost, policy, skip and the store do. Where there is no response (a message on a
 * socket), pass `undefined`.
 * @throws (or rejects) what the options' functions throw, and a `StoreError` if the store cannot
 * decide
 */
export type Check<Req, Res, Rest extends unknown[] = []> = (
  request: Req,
  response: Res | undefined,
  ...rest: Rest
) => Verdict | Promise<Verdict>

/** The part of Express's and Fastify's requests that is alike. */
interface NodeLike {
  readonly method: string
  readonly url: string
  readonly originalUrl?: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly socket?: { readonly remoteAddress?: string | undefined }
}

/** How to read requests that extend Node's, or stand for one. For adapters. */
export const nodeRequests: Pick<
  Required<HttpAdapter<NodeLike, never, never>>,
  'peer' | 'method' | 'url' | 'header' | 'headers' | 'placed' | 'place'
> = {
  peer: (request) => request.socket?.remoteAddress,
  method: (request) => request.method,
  // Routers change `url`. Fastify 4.0 has no `originalUrl`.
  url: (request) => request.originalUrl ?? request.url,
  header: (request, name) => request.headers[name]?.toString(),
  headers: (request) => request.headers,
  placed: (request, _, property) => (request as NodeLike & Record<string, unknown>)[property],
  place: (request, decision, _, property) => {
    ;(request as NodeLike & Record<string, unknown>)[property] = decision
  },
}

/**
 * How to see the end of a framework's response, and to break it off. For adapters.
 * @param of finds Node's response in it
 */
export function nodeResponses<Res>(
  of: (response: Res) => NodeResponse,
): Pick<Required<HttpAdapter<never, Res>>, 'afterResponse' | 'hasConnection' | 'cutOff'> {
  return {
    afterResponse: (response, done) => afterNodeResponse(of(response), done),
    hasConnection: (response) => hasNodeConnection(of(response)),
    cutOff: (response) => cutOffNodeResponse(of(response)),
  }
}
