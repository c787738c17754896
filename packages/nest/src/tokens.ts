// What both module formats of this package, if an application loads both, must find of each other:
// hence Symbol.for.

/** Injects the `RateLimits`. */
export const LIMITS: unique symbol = Symbol.for('@weir/nest:limits')
/** Injects the options of the module, so that tests can give others. */
export const OPTIONS: unique symbol = Symbol.for('@weir/nest:options')
/** Injects the module's guard. As metadata: a guard or an interceptor that runs limiters. */
export const GUARD: unique symbol = Symbol.for('@weir/nest:guard')

/** Registers guard, interceptor and filter when it is made. */
export const SET_UP: unique symbol = Symbol.for('@weir/nest:set-up')

/** Refuses what is request-scoped. */
export const SCOPE_CHECK: unique symbol = Symbol.for('@weir/nest:scope-check')

/** Metadata of `@RateLimit` and `@SkipRateLimit`. */
export const DECLARED: unique symbol = Symbol.for('@weir/nest:declared')
export const SKIPPED: unique symbol = Symbol.for('@weir/nest:skipped')

/** On what carries the decision of a message. Not enumerable, so that users do not see it. */
export const DECIDED: unique symbol = Symbol.for('@weir/nest:decided')

/** Injects a `RateLimiter` by its name, as `@InjectRateLimiter` does. */
export function getRateLimiterToken(name: string): symbol {
  // Nest says it where it finds no such provider.
  return Symbol.for(
    `RateLimiter "${name}" of @weir/nest; after forRootAsync, import RateLimitModule.forFeature('${name}') where it is injected`,
  )
}
