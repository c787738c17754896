// Hooks, which say so where they are mounted as something else; overload protection with them.

import type { ResponseSignal } from '@weir/core/adaptive'
import {
  type OverloadOptions,
  type OverloadState,
  overloadGuard,
  overloadHeaders,
  recordResponse,
  refundCharged,
  withState,
} from '@weir/core/http'
import { typeError } from '@weir/core/internal'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'

/** A hook over HTTP/1 and HTTP/2, whose types of requests share no more than parts. */
export type Hook = (
  request: Pick<FastifyRequest, 'ip'>,
  reply: Pick<FastifyReply, 'sent'>,
  done: HookHandlerDoneFunction,
) => void

/**
 * Makes a hook of a function. It takes `done`, so that a request that waits for nothing goes on in
 * the same turn of the event loop.
 */
export function hookOf<Req extends FastifyRequest>(
  handle: (request: Req, reply: FastifyReply, done: HookHandlerDoneFunction) => void,
): Hook {
  return (request, reply, done) => {
    // Of hooks with a payload, `done` is the next argument.
    if (typeof done !== 'function') throw mountedWrong()
    if ('raw' in request) handle(request as Req, reply as FastifyReply, done)
    // As a plugin, it gets the app.
    else done(mountedWrong())
  }
}

function mountedWrong(): TypeError {
  const right = "app.addHook('onRequest', limiter), or preValidation or preHandler"
  const message = `a limiter was mounted as a plugin, or as a hook that it is not for; use ${right}`
  return typeError('WEIR_INVALID_OPTION', message)
}

/** The hook, with its state. */
export type OverloadHook = Hook & OverloadState

/**
 * Refuses requests with 503 while more are in flight than the process can serve without a queue. It
 * finds out how many that is. Add it before all other hooks, as `onRequest`. It works in memory and
 * asks no store. With `reserve` and `priority`, the last part of the limit is left to requests that
 * matter more.
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example Fastify().addHook('onRequest', overload())
 */
export function overload<Class extends string = never>(
  options: OverloadOptions<FastifyRequest, Class> = {},
): OverloadHook {
  const guard = overloadGuard(options)
  const hook = hookOf((request, reply, done) => {
    const refusal = reply.sent ? undefined : guard.admit(request, reply.raw)
    if (refusal === undefined) return done()
    refundCharged(request)
    reply.code(refusal.status).headers(overloadHeaders(refusal)).send(Buffer.from(refusal.body))
  })
  return withState(hook, guard)
}

/**
 * Reports each response to a signal: how long it took, and whether its status is 500 or above. A
 * client that left first counts as a slow response if it waited longer than `latency`.
 * @experimental
 * @example
 * const signal = responses({ latency: '200ms' })
 * app.addHook('onRequest', recordResponses(signal))
 */
export function recordResponses(signal: ResponseSignal): Hook {
  return hookOf((_, reply, done) => {
    recordResponse(signal, reply.raw)
    done()
  })
}
