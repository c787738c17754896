// One limiter: translates between Fastify and core/http, which has all the logic.

import type { Denied, RateLimiter } from '@weir/core'
import {
  type Allowance,
  afterNodeResponse,
  asThrown,
  cutOffNodeResponse,
  fastifyTrust,
  type HttpAdapter,
  type HttpSettings,
  hasNodeConnection,
  httpLimiter,
  isPromise,
  type Refusal,
  type Verdict,
} from '@weir/core/http'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { type Hook, hookOf } from './hooks.js'

/**
 * Options of `rateLimit`. `onDenied` is called as `(decision, request, reply, done)`; it replies,
 * returns a body, throws, or calls `done()` to let the request go on.
 */
export type RateLimitOptions<
  Req extends FastifyRequest = FastifyRequest,
  Class extends string = string,
> = RateLimitSettings<Req, Class> & Allowance<Req>

/** All options except the policy, or limit and window: for settings that several limiters share.
 *  `Class`: the names of the classes of `reserve`. */
export interface RateLimitSettings<
  Req extends FastifyRequest = FastifyRequest,
  Class extends string = string,
> extends HttpSettings<Req, [FastifyReply, HookHandlerDoneFunction], [FastifyReply], Class> {}

/** A hook for `onRequest`, `preValidation` or `preHandler`, of an app or of a route. */
export interface RateLimitHook extends Hook {
  /** To peek, refund, charge or reset a key, to switch the limiter off, or to close it. Where it
   *  counts by address, its methods take addresses as they are. */
  readonly limiter: RateLimiter
}

/**
 * Limits requests, as in Express; a refusal throws nothing. Errors of the store and of the options'
 * functions go to Fastify's error handler.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_INVALID_DURATION,
 * WEIR_INVALID_NAME, WEIR_INVALID_PRIORITY
 * @example Fastify().addHook('onRequest', rateLimit({ limit: 100, window: '1m' }))
 */
export function rateLimit<
  Req extends FastifyRequest = FastifyRequest,
  Class extends string = never,
>(options: RateLimitOptions<Req, Class>): RateLimitHook {
  const { check, limiter } = httpLimiter<Req, FastifyReply, [FastifyReply]>(options, fastify)
  const { onDenied } = options

  function go(
    verdict: Verdict,
    req: Req,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): void {
    if (verdict === undefined) done()
    else if (onDenied && verdict.decision?.allowed === false)
      void answerWith(verdict.decision, req, reply, done)
    else refuse(verdict, reply)
  }

  /** Fastify ignores the promise of a hook that takes `done`, so errors go to `done` here. */
  async function answerWith(
    decision: Denied,
    req: Req,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
  ): Promise<void> {
    try {
      const body = await onDenied?.(decision, req, reply, done)
      if (body === undefined || reply.sent) return
      // As of a handler, but as a refusal unless `onDenied` has set a status.
      if (reply.statusCode === 200) reply.code(429)
      reply.send(body)
    } catch (error) {
      done(asThrown(error) as Error)
    }
  }

  const hook = hookOf((request, reply, done) => {
    let verdict: Verdict | Promise<Verdict>
    try {
      verdict = check(request as Req, reply, reply)
    } catch (error) {
      done(error as Error)
      return
    }
    // Outside the try: errors of later hooks are not the limiter's.
    if (isPromise(verdict))
      verdict.then((settled) => go(settled, request as Req, reply, done), done)
    else go(verdict, request as Req, reply, done)
  })

  return Object.assign(hook, { limiter })
}

function refuse({ status, mediaType, body }: Refusal, reply: FastifyReply): void {
  if (reply.raw.headersSent) {
    // The client would read the refusal as part of the response that has begun.
    if (!reply.raw.writableEnded) cutOffNodeResponse(reply.raw)
    return
  }
  // As bytes, since Fastify would add a charset to the media type of a text.
  reply.code(status).header('Content-Type', mediaType).send(Buffer.from(body))
}

type Placed = FastifyRequest & { [property: string]: unknown }

const fastify: HttpAdapter<FastifyRequest, FastifyReply, [FastifyReply]> = {
  isMiddleware: true,
  address: (request) => request.ip,
  peer: (request) => request.socket?.remoteAddress,
  trust: (request) => fastifyTrust(request.server),
  method: (request) => request.method,
  // Fastify 4.0 has no `originalUrl`.
  url: (request) => request.originalUrl ?? request.url,
  header: (request, name) => request.headers[name]?.toString(),
  headers: (request) => request.headers,
  placed: (request, _, property) => (request as Placed)[property],
  place: (request, decision, _, property) => {
    ;(request as Placed)[property] = decision
  },
  headersSent: (reply) => reply.sent || reply.raw.headersSent,
  setHeader: (reply, name, value) => void reply.header(name, value),
  removeHeader: (reply, name) => void reply.removeHeader(name),
  afterResponse: (reply, done) => afterNodeResponse(reply.raw, done),
  hasConnection: (reply) => hasNodeConnection(reply.raw),
  cutOff: (reply) => cutOffNodeResponse(reply.raw),
}
