// Checks what users hand in to be watched, and tells the kinds apart by their properties, not by
// their classes, because there may be two copies of a package.

import type { LimiterStats } from '@weir/core'
import type { OverloadPriority } from '@weir/core/http'
import type { LiveStatus } from '@weir/core/live'
import type { StoreStats } from '@weir/core/store'

/** What this package needs of a limiter; the `RateLimiter` of any copy of @weir/core has it. */
export interface WatchedLimiter {
  /** What it has counted. */
  stats(): LimiterStats
  /** Where it counts. A store without `stats` has no metrics. */
  readonly store: { stats?(): StoreStats }
}

/** What this package needs of overload protection; `overload()` has it. */
export interface WatchedOverload {
  /** The most requests that may be in flight. */
  readonly limit: number
  /** Requests in flight. */
  readonly inFlight: number
  /** Requests refused. */
  readonly refused: number
  /** What became of each class's requests. */
  readonly priorities?: readonly OverloadPriority[]
}

/** What this package needs of live policies; `livePolicies()` has it. */
export interface WatchedLive {
  /** Their state. */
  status(): LiveStatus
  /** Tells them from other objects that have a status. Not called. */
  history(): unknown
}

/** A limiter, or a middleware that has one; overload protection; or live policies. */
export type Watched =
  | WatchedLimiter
  | { readonly limiter: WatchedLimiter }
  | WatchedOverload
  | WatchedLive

/** What to watch, or a function that returns what there is now. */
export type Limiters = Iterable<Watched> | (() => Iterable<Watched>)

/** Everything that is watched, each once. */
export interface All {
  readonly limiters: Iterable<WatchedLimiter>
  readonly guards: Iterable<WatchedOverload>
  readonly live: Iterable<WatchedLive>
}

/**
 * Makes the function that returns what is watched.
 * @throws {TypeError} WEIR_INVALID_OPTION
 */
export function allOf(given: Limiters): () => All {
  if (typeof given === 'function') return () => sorted(given())
  // A copy, because an iterator can be read only once.
  const all = sorted(given)
  return () => all
}

function sorted(given: Iterable<Watched>): All {
  const { [Symbol.iterator]: iterator } = (given ?? {}) as Partial<Iterable<Watched>>
  if (typeof iterator !== 'function') throw invalid(given)
  const limiters = new Set<WatchedLimiter>()
  const guards = new Set<WatchedOverload>()
  const live = new Set<WatchedLive>()
  for (const each of given) {
    const limiter = limiterOf(each)
    if (limiter !== undefined) limiters.add(limiter)
    else if (isOverload(each)) guards.add(each)
    else if (isLive(each)) live.add(each)
    else throw invalid(each)
  }
  return { limiters, guards, live }
}

function limiterOf(given: Watched): WatchedLimiter | undefined {
  const { limiter } = (given ?? {}) as { limiter?: unknown }
  const found = typeof limiter === 'object' && limiter !== null ? limiter : given
  const isLimiter = typeof (found as Partial<WatchedLimiter> | undefined)?.stats === 'function'
  return isLimiter ? (found as WatchedLimiter) : undefined
}

function isOverload(given: unknown): given is WatchedOverload {
  const { limit, inFlight, refused } = (given ?? {}) as Partial<WatchedOverload>
  return [limit, inFlight, refused].every((each) => typeof each === 'number')
}

function isLive(given: unknown): given is WatchedLive {
  const { status, history } = (given ?? {}) as Partial<WatchedLive>
  return typeof status === 'function' && typeof history === 'function'
}

function invalid(given: unknown): TypeError {
  const right =
    'give limiters, middleware or live policies of @weir: [rateLimit({ ... }), overload()]'
  const page = 'docs/errors.md#weir_invalid_option'
  const error = new TypeError(
    `limiters has a value of the type ${typeof given}; ${right} (see ${page})`,
  )
  return Object.assign(error, { code: 'WEIR_INVALID_OPTION' })
}
