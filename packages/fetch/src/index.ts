// Rate limiting over the Fetch standard: translates between Request and Response and core/http,
// which has all the logic.

import type { RateLimiter } from '@weir/core'
import {
  type Allowance,
  asThrown,
  FORWARDING_HEADERS,
  type HttpAdapter,
  type HttpSettings,
  heldBy,
  httpLimiter,
  type NodeResponse,
  type RequestDecision,
  type Verdict,
} from '@weir/core/http'
import { isPromise } from '@weir/core/internal'
import { type Exchange, exchangeOf } from './exchange.js'

export * from '@weir/core'
export {
  type HeaderFormat,
  type ProxyOptions,
  RATE_LIMIT_HEADERS,
  type RequestDecision,
  type RequestHold,
  type ResponseOutcome,
} from '@weir/core/http'

export { clientAddress } from './client-address.js'
export { type HonoContext, type HonoMiddleware, honoMiddleware } from './hono.js'
export {
  limitTools,
  type ToolCall,
  type ToolCaller,
  type ToolLimit,
  type ToolServer,
} from './mcp.js'

/** What the server knows of a request's client: see `clientAddress`. Functions of the options get
 *  it as it was given, with all that you add. */
export interface Client {
  /** The address at the other end of the connection. */
  readonly address?: string | undefined
  /** Node's response. With it, Weir sets headers there, and sees when it has been sent, as in
   *  Express. */
  readonly outgoing?: OutgoingResponse | undefined
}

/** Node's response, HTTP/1 or HTTP/2. */
export interface OutgoingResponse extends NodeResponse {
  readonly headersSent: boolean
  setHeader(name: string, value: string): unknown
  removeHeader(name: string): unknown
}

/**
 * Options of `rateLimit`. `onDenied` is called as `(decision, request, client)`; it returns the
 * response, or undefined to let the request go on.
 */
export type RateLimitOptions<
  From extends Client = Client,
  Class extends string = string,
> = RateLimitSettings<From, Class> & Allowance<Request, [From]>

/** All options except the policy, or limit and window: for settings that several limiters share.
 *  `Class`: the names of the classes of `reserve`. */
export interface RateLimitSettings<From extends Client = Client, Class extends string = string>
  extends HttpSettings<Request, [From], [From], Class> {}

type Handler = () => Response | Promise<Response>

/** A limiter of requests. */
export interface RequestLimiter<From extends Client = Client> {
  /**
   * Limits a request. Returns the response that refuses it, or undefined; then give the handler's
   * response to `respond`.
   */
  (request: Request, client: From): Response | undefined | Promise<Response | undefined>
  /** Limits a request, and has it handled unless it is refused. The handler's response gets its
   *  headers. */
  handle(request: Request, client: From, handler: Handler): Promise<Response>
  /** To peek, refund, charge or reset a key, to switch the limiter off, or to close it. Where it
   *  counts by address, its methods take addresses as they are. */
  readonly limiter: RateLimiter
}

/**
 * Limits requests, as in Express. Errors of the store and of the options' functions are thrown.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_INVALID_DURATION,
 * WEIR_INVALID_NAME, WEIR_INVALID_PRIORITY
 * @example
 * const limit = rateLimit({ limit: 100, window: '1m' })
 * const fetch = (request: Request) =>
 *   limit.handle(request, clientAddress.vercel(request), () => Response.json('hello'))
 */
export function rateLimit<From extends Client = Client, Class extends string = never>(
  options: RateLimitOptions<From, Class>,
): RequestLimiter<From> {
  const { check, limiter } = httpLimiter<Request, Exchange, [From]>(options, fetchAdapter)
  const { onDenied } = options

  function go(
    verdict: Verdict,
    request: Request,
    exchange: Exchange,
    client: From,
  ): Response | undefined | Promise<Response | undefined> {
    if (verdict === undefined) return undefined
    if (onDenied && verdict.decision?.allowed === false)
      return answered(() => onDenied(verdict.decision as never, request, client), exchange)
    const { status, mediaType, body } = verdict
    return exchange.respond(new Response(body, { status, headers: { 'Content-Type': mediaType } }))
  }

  function limit(
    request: Request,
    client: From,
  ): Response | undefined | Promise<Response | undefined> {
    const exchange = exchangeOf(request)
    exchange.client = client
    const verdict = check(request, exchange, client)
    return isPromise(verdict)
      ? verdict.then((settled) => go(settled, request, exchange, client))
      : go(verdict, request, exchange, client)
  }

  async function handle(request: Request, client: From, handler: Handler): Promise<Response> {
    const exchange = exchangeOf(request)
    exchange.client = client
    exchange.isHandled = true
    const checked = check(request, exchange, client)
    const verdict = isPromise(checked) ? await checked : checked
    if (verdict !== undefined) {
      const refused = await go(verdict, request, exchange, client)
      if (refused !== undefined) return refused
    }
    try {
      const handled = handler()
      // The request keeps its slots until its handler has ended, whenever the client leaves.
      if (isPromise(handled)) void heldBy(request)?.until(handled)
      return exchange.respond(isPromise(handled) ? await handled : handled)
    } catch (error) {
      exchange.end(500, true)
      throw error
    }
  }

  return Object.assign(limit, { handle, limiter })
}

async function answered(
  onDenied: () => unknown,
  exchange: Exchange,
): Promise<Response | undefined> {
  try {
    const response = await onDenied()
    return response === undefined ? undefined : exchange.respond(response as Response)
  } catch (error) {
    throw asThrown(error)
  }
}

/**
 * Gives a response the headers of all limiters that its request has passed. Costs are settled and
 * slots released when its body has been read or cancelled. Returns the same response, or a new one
 * where the headers cannot be changed.
 */
export function respond(request: Request, response: Response): Response {
  return exchangeOf(request).respond(response)
}

/** The binding decision of a request's limiters; `all` has the decision of each. `property`: the
 *  option `requestProperty`. */
export function decisionOf(request: Request, property = 'rateLimit'): RequestDecision | undefined {
  return exchangeOf(request).placed[property] as RequestDecision | undefined
}

const fetchAdapter: HttpAdapter<Request, Exchange, [Client]> = {
  isMiddleware: true,
  address: (request) => exchangeOf(request).client.address,
  peer: (request) => exchangeOf(request).client.address,
  // Where the platform names the client in a header, the address comes from there.
  trust: (request) => {
    const { address = '' } = exchangeOf(request).client
    const named = FORWARDING_HEADERS.some((name) => request.headers.get(name)?.includes(address))
    return address !== '' && named ? 'listed' : 'nobody'
  },
  method: (request) => request.method,
  url: (request) => request.url,
  header: (request, name) => request.headers.get(name) ?? undefined,
  headers: (request) => Object.fromEntries(request.headers),
  placed: (request, _, property) => exchangeOf(request).placed[property],
  place: (request, decision, _, property) => {
    exchangeOf(request).placed[property] = decision
  },
  headersSent: (exchange) => exchange.headersSent,
  setHeader: (exchange, name, value) => exchange.setHeader(name, value),
  removeHeader: (exchange, name) => exchange.removeHeader(name),
  afterResponse: (exchange, done) => exchange.after(done),
  hasConnection: (exchange) => exchange.hasConnection,
  cutOff: (exchange) => exchange.cutOff(),
}
