// Rate limiting for Express 4 and 5: translates between Express and core/http, which has all
// the logic.

import type { RateLimiter } from '@weir/core'
import {
  type Allowance,
  callbackLimiter,
  cutOffBegun,
  type HttpAdapter,
  type HttpSettings,
  nodeRequests,
  nodeResponses,
  type Refusal,
  type RequestDecision,
  trustsEverybody,
} from '@weir/core/http'
import type { NextFunction, Request, Response } from 'express'

export * from '@weir/core'
export {
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
 * functions go to `next`. Its property `limiter` is the `RateLimiter`.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_INVALID_DURATION,
 * WEIR_INVALID_NAME, WEIR_INVALID_PRIORITY
 * @example
 * const limit = rateLimit({ limit: 100, window: '1m' })
 * app.get('/left', async (req, res) => {
 *   res.json((await limit.limiter.peek(String(req.ip))).remaining)
 * })
 * app.use(limit)
 */
export function rateLimit<Req extends Request = Request, Class extends string = never>(
  options: RateLimitOptions<Req, Class>,
): RateLimitHandler {
  const { limiter, handle } = callbackLimiter(options, express, refuse)
  return Object.assign(handle, { limiter }) as RateLimitHandler
}

function refuse(refusal: Refusal, res: Response): void {
  // Express, after an error this late, cuts it off as well.
  if (cutOffBegun(res)) return
  res.statusCode = refusal.status
  res.setHeader('Content-Type', refusal.mediaType)
  // Not `send`, which would add an ETag and a charset.
  res.end(refusal.body)
}

// Also works without an app, as in Connect or around node:http.
const express: HttpAdapter<Request, Response, [Response]> = {
  ...nodeRequests,
  ...nodeResponses((res) => res),
  isMiddleware: true,
  address: (req) => req.ip ?? req.socket?.remoteAddress,
  trust: (req) => {
    const trust: unknown = req.app?.get('trust proxy')
    if (!trust) return 'nobody'
    // Express turns any value into a function of an address.
    const trusts: unknown = req.app.get('trust proxy fn')
    const isAll = typeof trusts === 'function' && trustsEverybody(trusts as () => unknown)
    return trust === true || isAll ? 'everybody' : 'listed'
  },
  headersSent: (res) => res.headersSent,
  setHeader: (res, name, value) => void res.setHeader(name, value),
  removeHeader: (res, name) => res.removeHeader(name),
}
