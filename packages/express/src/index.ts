// Rate limiting for Express 4 and 5: translates between Express and core/http, which has all
// the logic.

import type { Denied, RateLimiter } from '@weir/core'
import {
  type Allowance,
  afterNodeResponse,
  asThrown,
  cutOffNodeResponse,
  type HttpAdapter,
  type HttpSettings,
  hasNodeConnection,
  httpLimiter,
  isPromise,
  type Refusal,
  type RequestDecision,
  trustsEverybody,
  type Verdict,
} from '@weir/core/http'
import type { NextFunction, Request, Response } from 'express'

export * from '@weir/core'
export {
  type AddressOptions,
  addressKey,
  type HeaderFormat,
  type Overload,
  type OverloadOptions,
  type OverloadPriority,
  type ProxyOptions,
  RATE_LIMIT_HEADERS,
  type RequestDecision,
  type RequestHold,
  type ResponseOutcome,
  recordResponses,
} from '@weir/core/http'
export { overload } from './overload.js'

declare global {
  namespace Express {
    interface Request {
      /** The binding decision of this request's limiters; `all` has the decision of each. */
      rateLimit?: RequestDecision
    }
  }
}

/**
 * Options of `rateLimit`. Functions are called as `(req, res)`, `onDenied` as `(decision, req, res,
 * next)`, `body` as `(decision, req, res)`, `refundWhen` and `settle` as `(req, outcome, res)`.
 */
export type RateLimitOptions<
  Req extends Request = Request,
  Class extends string = string,
> = RateLimitSettings<Req, Class> & Allowance<Req, [Response]>

/** All options except the policy, or limit and window: for settings that several limiters share.
 *  `Class`: the names of the classes of `reserve`. */
export interface RateLimitSettings<Req extends Request = Request, Class extends string = string>
  extends HttpSettings<Req, [Response, NextFunction], [Response], Class> {}

/** The middleware. Generic, so that routes still infer their parameters from their paths. */
export interface RateLimitHandler {
  <P, ResBody, ReqBody, Query>(
    req: Request<P, ResBody, ReqBody, Query>,
    res: Response<ResBody>,
    next: NextFunction,
  ): void
  /** To peek, refund, charge or reset a key, to switch the limiter off, or to close it. Where it
   *  counts by address, its methods take addresses as they are. */
  readonly limiter: RateLimiter
}

/**
 * Limits requests: `{ limit, window }`, or `{ policy }`. By default it counts by client address, in
 * memory, and refuses with 429 and a problem document. Errors of the store and of the options'
 * functions go to `next`.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_INVALID_DURATION,
 * WEIR_INVALID_NAME, WEIR_INVALID_PRIORITY
 * @example app.use(rateLimit({ limit: 100, window: '1m' }))
 */
export function rateLimit<Req extends Request = Request, Class extends string = never>(
  options: RateLimitOptions<Req, Class>,
): RateLimitHandler {
  const { check, limiter } = httpLimiter<Req, Response, [Response]>(options, express)
  const { onDenied } = options

  function go(verdict: Verdict, req: Req, res: Response, next: NextFunction): void {
    if (verdict === undefined) next()
    else if (onDenied && verdict.decision?.allowed === false)
      void answerWith(verdict.decision, req, res, next)
    else refuse(verdict, res)
  }

  /** Express 4 ignores promises, so errors go to `next` here. */
  async function answerWith(
    decision: Denied,
    req: Req,
    res: Response,
    next: NextFunction,
  ): Promise<void> {
    try {
      await onDenied?.(decision, req, res, next)
    } catch (error) {
      next(asThrown(error))
    }
  }

  function handle(req: Request, res: Response, next: NextFunction): void {
    let verdict: Verdict | Promise<Verdict>
    try {
      verdict = check(req as Req, res, res)
    } catch (error) {
      next(error)
      return
    }
    // Outside the try: errors of later handlers are not the limiter's.
    if (isPromise(verdict)) verdict.then((settled) => go(settled, req as Req, res, next), next)
    else go(verdict, req as Req, res, next)
  }

  return Object.assign(handle, { limiter }) as RateLimitHandler
}

function refuse(refusal: Refusal, res: Response): void {
  if (res.headersSent) {
    // No handler will end the response; Express, after an error this late, cuts it off as well.
    if (!res.writableEnded) cutOffNodeResponse(res)
    return
  }
  res.statusCode = refusal.status
  res.setHeader('Content-Type', refusal.mediaType)
  // Not `send`, which would add an ETag and a charset.
  res.end(refusal.body)
}

type Placed = Request & { [property: string]: unknown }

// Also works without an app, as in Connect or around node:http.
const express: HttpAdapter<Request, Response, [Response]> = {
  isMiddleware: true,
  address: (req) => req.ip ?? req.socket?.remoteAddress,
  peer: (req) => req.socket?.remoteAddress,
  trust: (req) => {
    const trust: unknown = req.app?.get('trust proxy')
    if (!trust) return 'nobody'
    // Express turns any value into a function of an address.
    const trusts: unknown = req.app.get('trust proxy fn')
    const isAll = typeof trusts === 'function' && trustsEverybody(trusts as () => unknown)
    return trust === true || isAll ? 'everybody' : 'listed'
  },
  method: (req) => req.method,
  url: (req) => req.originalUrl ?? req.url,
  header: (req, name) => req.headers[name]?.toString(),
  headers: (req) => req.headers,
  placed: (req, _, property) => (req as Placed)[property],
  place: (req, decision, _, property) => {
    ;(req as Placed)[property] = decision
  },
  headersSent: (res) => res.headersSent,
  setHeader: (res, name, value) => void res.setHeader(name, value),
  removeHeader: (res, name) => res.removeHeader(name),
  afterResponse: afterNodeResponse,
  hasConnection: hasNodeConnection,
  cutOff: cutOffNodeResponse,
}
