// Middleware as functions, which are called with a request without a socket and a real
// ServerResponse.

import { type IncomingMessage, ServerResponse } from 'node:http'
import { type RateLimitOptions, rateLimit, tokenBucket } from '@weir/express'
import { rateLimit as koaRateLimit } from '@weir/koa'
import createApplication, { type Request, type Response } from 'express'
import { rateLimit as expressRateLimit, type Options } from 'express-rate-limit'
import Koa, { type Context } from 'koa'
import koaRatelimit from 'koa-ratelimit'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { Kind } from '../table.js'

/** A request and its response. */
export interface Exchange {
  readonly req: Request
  readonly res: ServerResponse & Response
  readonly ctx: Context
}

export interface Middleware {
  readonly name: string
  readonly kind: Kind
  /** Makes the middleware with a limit. */
  open(limit: number): (exchange: Exchange, next: (error?: unknown) => Promise<void>) => unknown
}

const WINDOW_MS = 3_600_000

const expressApp = createApplication()
const koaApp = new Koa()

export function exchange(): Exchange {
  const req = {
    ...{
      ip: '',
      method: 'GET',
      url: '/',
      originalUrl: '/',
      headers: {},
      app: expressApp,
      rateLimit: undefined,
    },
    ...{ httpVersionMajor: 1, httpVersionMinor: 1, socket: { remoteAddress: '' } },
  } as unknown as IncomingMessage & Request
  const ctx = koaApp.createContext(req, new ServerResponse(req)) as Context
  // As Express does for each response.
  const res = Object.setPrototypeOf(new ServerResponse(req), expressApp.response)
  return { req, res, ctx }
}

/**
 * Makes an exchange look like a new one: really new ones would cost more than any middleware, and
 * much of that later, as garbage.
 */
export function renew({ req, res, ctx }: Exchange, address: string): void {
  Object.assign(req, { ip: address, rateLimit: undefined })
  Object.assign(req.socket, { remoteAddress: address })
  ctx.request.ip = address
  ctx.state = {}
  for (const response of [res, ctx.res]) {
    for (const name of response.getHeaderNames()) response.removeHeader(name)
  }
}

export const NOTHING = 'next()'
export const WEIR = 'Weir for Express'
const WEIR_BUCKET = 'Weir for Express, token bucket'
const TWO_HEADERS = 'two setHeader'
export const ERL_8 = 'express-rate-limit, draft-8'

export const middleware: readonly Middleware[] = [
  { name: NOTHING, kind: 'floor', open: () => (_exchange, next) => next() },
  {
    name: TWO_HEADERS,
    kind: 'floor',
    open: (limit) => {
      let left = limit
      return ({ res }, next) => {
        res.setHeader('RateLimit-Policy', '"default";q=1000000;w=3600')
        left -= 1
        res.setHeader('RateLimit', `"default";r=${left};t=60`)
        return next()
      }
    },
  },
  weir(WEIR, (limit) => ({ limit, window: WINDOW_MS })),
  weir(WEIR_BUCKET, (limit) => ({
    policy: tokenBucket({ capacity: limit, refill: 1, every: 15_000 }),
  })),
  {
    name: 'Weir for Koa',
    kind: 'weir',
    open: (limit) => {
      const handle = koaRateLimit({ limit, window: WINDOW_MS })
      return ({ ctx }, next) => handle(ctx, next)
    },
  },
  express('express-rate-limit, no headers', { legacyHeaders: false }),
  express('express-rate-limit, default headers', {}),
  express(ERL_8, { legacyHeaders: false, standardHeaders: 'draft-8' }),
  {
    name: 'rate-limiter-flexible, one header',
    kind: 'peer',
    open: (points) => {
      const limiter = new RateLimiterMemory({ points, duration: WINDOW_MS / 1_000 })
      // The middleware from its wiki.
      return ({ req, res }, next) =>
        limiter
          .consume(req.ip as string)
          .then(({ remainingPoints }) => {
            res.setHeader('X-RateLimit-Remaining', remainingPoints)
            return next()
          })
          .catch((refusal: RateLimiterRes | Error) => {
            if (refusal instanceof Error) throw refusal
            res.statusCode = 429
          })
    },
  },
  {
    name: 'koa-ratelimit',
    kind: 'peer',
    open: (max) => {
      const handle = koaRatelimit({ driver: 'memory', db: new Map(), max, duration: WINDOW_MS })
      return ({ ctx }, next) => handle(ctx, next)
    },
  },
]

function weir(name: string, options: (limit: number) => RateLimitOptions): Middleware {
  return {
    name,
    kind: 'weir',
    open: (limit) => {
      const handle = rateLimit(options(limit))
      return ({ req, res }, next) => handle(req, res, next)
    },
  }
}

function express(name: string, options: Partial<Options>): Middleware {
  return {
    name,
    kind: 'peer',
    open: (limit) => {
      const handle = expressRateLimit({ windowMs: WINDOW_MS, limit, ...options })
      return ({ req, res }, next) => handle(req, res, next)
    },
  }
}
