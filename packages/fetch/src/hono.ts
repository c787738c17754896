// Limiters as middleware of Hono.

import type { Client, RequestLimiter } from './index.js'

/** The part of Hono's context that is used. */
export interface HonoContext {
  readonly req: { readonly raw: Request }
  // biome-ignore lint/suspicious/noExplicitAny: as in Hono, which does not know its platform
  readonly env: any
  readonly finalized: boolean
  res: Response
}

const NO_RESPONSE = undefined as unknown as Response

/** A middleware for `app.use` or a route. */
export type HonoMiddleware<Context extends HonoContext> = (
  context: Context,
  next: () => Promise<void>,
  // biome-ignore lint/suspicious/noConfusingVoidType: what Hono expects of a middleware
) => Promise<Response | void>

/**
 * Makes a limiter a middleware of Hono. `clientOf` returns the client's address, and what else the
 * functions of the options are to get.
 * @example
 * const limiter = rateLimit({ limit: 100, window: '1m' })
 * app.use(honoMiddleware(limiter, (c) => clientAddress.node(c.env)))
 */
export function honoMiddleware<From extends Client, Context extends HonoContext>(
  limiter: RequestLimiter<From>,
  clientOf: (context: Context) => From,
): HonoMiddleware<Context> {
  return async (context, next) => {
    // Reading `res` would make a response where the application forgot to.
    const handler = () => next().then(() => (context.finalized ? context.res : NO_RESPONSE))
    const response = await limiter.handle(context.req.raw, clientOf(context), handler)
    if (!context.finalized) return response
    if (response !== context.res) context.res = response
  }
}
