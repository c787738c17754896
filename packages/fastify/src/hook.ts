// The hooks of this package, which say so where they are mounted as something else.

import { withPage } from '@weir/core/http'
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
export function hookOf(
  handle: (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void,
): Hook {
  return (request, reply, done) => {
    // Of hooks with a payload, `done` is the next argument.
    if (typeof done !== 'function') throw mountedWrong()
    if ('raw' in request) handle(request as FastifyRequest, reply as FastifyReply, done)
    // As a plugin, it gets the app.
    else done(mountedWrong())
  }
}

function mountedWrong(): TypeError {
  const code = 'WEIR_INVALID_OPTION'
  const right = "app.addHook('onRequest', limiter), or preValidation or preHandler"
  const message = `a limiter was mounted as a plugin, or as a hook that it is not for; use ${right}`
  return Object.assign(new TypeError(withPage(code, message)), { code })
}
