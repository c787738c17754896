// Rate limiting for Koa 2 and 3: translates between Koa and core/http, which has all the logic.

import type { RateLimiter } from '@weir/core'
import {
  type Allowance,
  afterNodeResponse,
  asThrown,
  cutOffBegun,
  type HttpAdapter,
  type HttpSettings,
  heldBy,
  httpLimiter,
  nodeResponses,
  type Refusal,
  type RequestDecision,
  type Verdict,
} from '@weir/core/http'
import { isPromise } from '@weir/core/internal'
import type { DefaultContext, DefaultState, Middleware, Next, ParameterizedContext } from 'koa'
import { type AnyContext, forget, remember } from './error-path.js'

export * from '@weir/core'
export {
  type HeaderFormat,
  type OverloadOptions,
  type OverloadPriority,
  type ProxyOptions,
  RATE_LIMIT_HEADERS,
  type RequestDecision,
  type RequestHold,
  type ResponseOutcome,
} from '@weir/core/http'

export { type OverloadMiddleware, overload, recordResponses } from './overload.js'

/**
 * What the limiters put in `ctx.state`. Koa's default state has it; add it to a state type of your
 * own.
 */
export interface RateLimitState {
  /** The binding decision of this request's limiters; `all` has the decision of each. */
  rateLimit?: RequestDecision
}

declare module 'koa' {
  interface DefaultState extends RateLimitState {}
}

/**
 * Options of `rateLimit`. `onDenied` is called as `(decision, ctx, next)`; it sets status and body,
 * or calls `ctx.throw`.
 */
export type RateLimitOptions<
  StateT = DefaultState,
  ContextT = DefaultContext,
  Class extends string = string,
> = RateLimitSettings<StateT, ContextT, Class> & Allowance<ParameterizedContext<StateT, ContextT>>

/** All options except the policy, or limit and window: for settings that several limiters share.
 *  `Class`: the names of the classes of `reserve`. */
export interface RateLimitSettings<
  StateT = DefaultState,
  ContextT = DefaultContext,
  Class extends string = string,
> extends HttpSettings<ParameterizedContext<StateT, ContextT>, [Next], [], Class> {}

/** The middleware, with its limiter. */
export type RateLimitMiddleware<StateT = DefaultState, ContextT = DefaultContext> = Middleware<
  StateT,
  ContextT
> & {
  /** To peek, refund, charge or reset a key, to switch the limiter off, or to close it. Where it
   *  counts by address, its methods take addresses as they are. */
  readonly limiter: RateLimiter
}

/**
 * Limits requests, as in Express; a refusal throws nothing. Errors of the store and of the options'
 * functions are thrown.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_INVALID_DURATION,
 * WEIR_INVALID_NAME, WEIR_INVALID_PRIORITY
 * @example new Koa().use(rateLimit({ limit: 100, window: '1m' }))
 */
export function rateLimit<
  StateT = DefaultState,
  ContextT = DefaultContext,
  Class extends string = never,
>(options: RateLimitOptions<StateT, ContextT, Class>): RateLimitMiddleware<StateT, ContextT> {
  type Context = ParameterizedContext<StateT, ContextT>
  const { check, limiter } = httpLimiter<Context, AnyContext>(options, koa)
  const { onDenied } = options

  async function goNoFurther(refusal: Refusal, ctx: Context, next: Next): Promise<void> {
    if (!onDenied || refusal.decision?.allowed !== false) return refuse(refusal, ctx)
    try {
      await onDenied(refusal.decision, ctx, next)
    } catch (error) {
      throw asThrown(error)
    }
  }

  function go(verdict: Verdict, ctx: Context, next: Next): Promise<void> {
    if (verdict !== undefined) return goNoFurther(verdict, ctx, next)
    const handled = next()
    // The request keeps its slots until its handler has ended, whenever the client leaves.
    void heldBy(ctx)?.until(handled)
    return handled
  }

  // Not async, so that a request that waits for nothing goes on in the same turn of the event loop.
  function handle(ctx: Context, next: Next): Promise<void> {
    const verdict = check(ctx, ctx)
    return isPromise(verdict)
      ? verdict.then((settled) => go(settled, ctx, next))
      : go(verdict, ctx, next)
  }

  return Object.assign(handle, { limiter })
}

function refuse({ status, mediaType, body }: Refusal, ctx: AnyContext): void {
  if (cutOffBegun(ctx.res)) return
  ctx.status = status
  // Before the body, or Koa would guess from it.
  ctx.set('Content-Type', mediaType)
  ctx.body = body
}

const koa: HttpAdapter<AnyContext, AnyContext> = {
  ...nodeResponses((ctx) => ctx.res),
  isMiddleware: true,
  address: (ctx) => ctx.ip,
  peer: (ctx) => ctx.req.socket?.remoteAddress,
  trust: ({ app }) => {
    if (!app.proxy) return 'nobody'
    // Koa takes the leftmost of the last `maxIpsCount` entries, by default of all entries.
    const any = app.proxyIpHeader.toLowerCase() === 'x-forwarded-for' && !(app.maxIpsCount > 0)
    return any ? 'everybody' : 'listed'
  },
  method: (ctx) => ctx.method,
  url: (ctx) => ctx.originalUrl,
  header: (ctx, name) => ctx.req.headers[name]?.toString(),
  headers: (ctx) => ctx.req.headers,
  placed: (ctx, _, property) => (ctx.state as Record<string, unknown>)[property],
  place: (ctx, decision, _, property) => {
    ;(ctx.state as Record<string, unknown>)[property] = decision
  },
  headersSent: (ctx) => ctx.headerSent,
  setHeader: (ctx, name, value) => {
    // Not `ctx.set`, which does the same in many more steps.
    ctx.res.setHeader(name, value)
    remember(ctx, name, value)
  },
  removeHeader: (ctx, name) => {
    ctx.res.removeHeader(name)
    forget(ctx, name)
  },
  afterResponse: (ctx, done) =>
    afterNodeResponse(ctx.res, (outcome) => {
      // 404 is Koa's initial status. Where nothing was sent, no handler has chosen it.
      done(ctx.headerSent || ctx.status !== 404 ? outcome : { ...outcome, status: 200 })
    }),
}
