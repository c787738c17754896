// Overload protection for Koa: core/http has all the logic.

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
import type { Context, Middleware } from 'koa'

/** The middleware, with its state. */
export type OverloadMiddleware = Middleware<unknown, unknown> & OverloadState

/**
 * Refuses requests with 503 while more are in flight than the process can serve without a queue. It
 * finds out how many that is. Use it before all other middlewares. It works in memory and asks no
 * store. With `reserve` and `priority`, the last part of the limit is left to requests that matter
 * more.
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example new Koa().use(overload())
 */
export function overload<Class extends string = never>(
  options: OverloadOptions<Context, Class> = {},
): OverloadMiddleware {
  const guard = overloadGuard(options)
  const handle: Middleware<unknown, unknown> = async (ctx, next) => {
    const refusal = ctx.headerSent ? undefined : guard.admit(ctx as Context, ctx.res)
    if (refusal === undefined) return next()
    refundCharged(ctx.state as object)
    ctx.status = refusal.status
    ctx.set(overloadHeaders(refusal))
    ctx.body = refusal.body
  }
  return withState(handle, guard)
}

/**
 * Reports each response to a signal: how long it took, and whether its status is 500 or above. A
 * client that left first counts as a slow response if it waited longer than `latency`.
 * @experimental
 * @example
 * const signal = responses({ latency: '200ms' })
 * app.use(recordResponses(signal))
 */
export function recordResponses(signal: ResponseSignal): Middleware<unknown, unknown> {
  return (ctx, next) => {
    recordResponse(signal, ctx.res)
    return next()
  }
}
