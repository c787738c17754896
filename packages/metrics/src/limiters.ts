// Which limiters are watched: checked where they enter.

import type { LimiterStats, StoreStats } from '@weir/core'

/** What is asked of a limiter; `RateLimiter` has it, of any copy of @weir/core. */
export interface WatchedLimiter {
  /** What it has counted. */
  stats(): LimiterStats
  /** Where it counts. One without `stats` shows nothing of itself. */
  readonly store: { stats?(): StoreStats }
}

/** A limiter, or a middleware that has one. */
export type Watched = WatchedLimiter | { readonly limiter: WatchedLimiter }

/** Limiters and middleware; or a function that gives those that there are now. */
export type Limiters = Iterable<Watched> | (() => Iterable<Watched>)

/**
 * A function that gives the limiters, each once.
 * @throws {TypeError} WEIR_INVALID_OPTION
 */
export function limitersOf(given: Limiters): () => readonly WatchedLimiter[] {
  if (typeof given === 'function') return () => checked(given())
  // A copy: an iterator can be read once only.
  const all = checked(given)
  return () => all
}

function checked(given: Iterable<Watched>): readonly WatchedLimiter[] {
  if (
    typeof (given as Partial<Iterable<Watched>> | null | undefined)?.[Symbol.iterator] !==
    'function'
  )
    throw invalid(given)
  return [...new Set([...given].map(limiterOf))]
}

function limiterOf(given: Watched): WatchedLimiter {
  const { limiter } = (given ?? {}) as { limiter?: unknown }
  const found = typeof limiter === 'object' && limiter !== null ? limiter : given
  if (typeof (found as Partial<WatchedLimiter> | undefined)?.stats !== 'function')
    throw invalid(given)
  return found as WatchedLimiter
}

function invalid(given: unknown): TypeError {
  const shown = typeof given === 'string' ? JSON.stringify(given) : String(typeof given)
  const right = 'give limiters or middleware of @weir: [limiter, rateLimit({ ... })]'
  const error = new TypeError(`limiters has ${shown}; ${right}`)
  return Object.assign(error, { code: 'WEIR_INVALID_OPTION' })
}
