// One limiter: translates between Fastify and core/http, which has all the logic.

import type { RateLimiter } from '@weir/core'
import {
  type Allowance,
  callbackLimiter,
  cutOffBegun,
  fastifyTrust,
  type HttpAdapter,
  type HttpSettings,
  nodeRequests,
  nodeResponses,
  type Refusal,
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
  const { limiter, handle } = callbackLimiter(options, fastify, refuse, answer)
  return Object.assign(hookOf(handle), { limiter })
}

/** As of a handler, but as a refusal unless `onDenied` has set a status. */
function answer(body: unknown, reply: FastifyReply): void {
  if (body === undefined || reply.sent) return
  if (reply.statusCode === 200) reply.code(429)
  reply.send(body)
}

function refuse({ status, mediaType, body }: Refusal, reply: FastifyReply): void {
  if (cutOffBegun(reply.raw)) return
  // As bytes, since Fastify would add a charset to the media type of a text.
  reply.code(status).header('Content-Type', mediaType).send(Buffer.from(body))
}

const fastify: HttpAdapter<FastifyRequest, FastifyReply, [FastifyReply]> = {
  ...nodeRequests,
  ...nodeResponses((reply) => reply.raw),
  isMiddleware: true,
  address: (request) => request.ip,
  trust: (request) => fastifyTrust(request.server),
  headersSent: (reply) => reply.sent || reply.raw.headersSent,
  setHeader: (reply, name, value) => void reply.header(name, value),
  removeHeader: (reply, name) => void reply.removeHeader(name),
}
