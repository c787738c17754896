// Symbols that both module formats of this package share if an application loads both: hence
// Symbol.for.

/** Injects the `RateLimits`. */
export const LIMITS: unique symbol = Symbol.for('@weir/nest:limits')
/** Injects the module's options, so that tests can replace them. */
export const OPTIONS: unique symbol = Symbol.for('@weir/nest:options')
/** Injects the module's guard. As metadata, marks a guard or an interceptor that runs limiters. */
export const GUARD: unique symbol = Symbol.for('@weir/nest:guard')

/** Registers guard, interceptor and filter when it is made. */
export const SET_UP: unique symbol = Symbol.for('@weir/nest:set-up')

/** Refuses request-scoped providers. */
export const SCOPE_CHECK: unique symbol = Symbol.for('@weir/nest:scope-check')

/** Metadata of `@RateLimit` and `@SkipRateLimit`. */
export const DECLARED: unique symbol = Symbol.for('@weir/nest:declared')
export const SKIPPED: unique symbol = Symbol.for('@weir/nest:skipped')

/** Metadata of a method: the method itself. Tracers that wrap a handler copy its metadata, and so
 *  show which method they wrap. */
export const HANDLER: unique symbol = Symbol.for('@weir/nest:handler')

/** The property that carries a message's decision. Not enumerable, so that users do not see it. */
export const DECIDED: unique symbol = Symbol.for('@weir/nest:decided')

/** Injects a `RateLimiter` by its name, as `@InjectRateLimiter` does. */
export function getRateLimiterToken(name: string): symbol {
  // Nest prints this description if it finds no such provider.
  return Symbol.for(
    `RateLimiter "${name}" of @weir/nest; after forRootAsync, import RateLimitModule.forFeature('${name}') where it is injected`,
  )
}
