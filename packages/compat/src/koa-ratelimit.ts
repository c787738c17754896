// The `db` for koa-ratelimit 5 and 6, and for async-ratelimiter, which counts for them. The latter
// calls one custom command on its client, `ratelimiter`, and defines it only where it is missing.

import type { Store } from '@weir/core'
import { check, misuse } from './checked.js'
import { leftMsOf } from './counted.js'
import { keyOf } from './key.js'
import { COMMON, type CompatOptions, limitersOf, windowsOf } from './limiters.js'

export interface WeirDbOptions extends CompatOptions {
  /**
   * `'sliding-window'` never lets more than the limit pass in any window, like the limiter's own
   * store. `'fixed-window'` counts from a key's first request, and begins anew when the window is
   * over. Default `'sliding-window'`.
   */
  readonly algorithm?: 'fixed-window' | 'sliding-window' | undefined
}

/** What async-ratelimiter calls on its client. */
export interface WeirDb {
  ratelimiter(
    key: string,
    now: number,
    duration: number,
    max: number,
    peek?: string,
  ): Promise<Counted>
  /** Called by async-ratelimiter before 1.5: throws WEIR_INVALID_OPTION. */
  multi(): never
}

/** What was left before this request; when there will be more, in seconds since the Unix epoch;
 *  `max`. */
export type Counted = [remaining: number, reset: number, total: number]

/**
 * The `db` of koa-ratelimit, or of async-ratelimiter, over any of Weir's stores. It answers only
 * `ratelimiter`, whatever else `Db`, the required type, has.
 *
 * A refused request's reset is up to two seconds later than the request would pass: koa-ratelimit
 * rounds the rest of the time down to whole seconds, and `Retry-After` must not be too short.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME. Its requests fail with
 * WEIR_INVALID_POLICY where `max` or `duration` is not a whole number from 1
 * @example
 * app.use(ratelimit({
 *   driver: 'redis',
 *   db: weirDb(redisStore(client), { name: 'api' }),
 *   max: 100,
 *   duration: 60_000,
 * }))
 */
export function weirDb<Db = WeirDb>(store: Store, options: WeirDbOptions = {}): WeirDb & Db {
  const { name = 'koa-ratelimit', algorithm = 'sliding-window' } = options ?? {}
  check(store, options, name, COMMON)
  const limiterFor = limitersOf(store, { ...options, name }, windowsOf({ algorithm }))
  const db: WeirDb = {
    async ratelimiter(key, _now, duration, max, peek) {
      const limiter = limiterFor(max, duration)
      if (peek === '1') {
        const { remaining, resetAfterMs } = await limiter.peek(keyOf(key))
        return [remaining, secondOf(remaining === max ? duration : resetAfterMs), max]
      }
      const decision = await limiter.consume(keyOf(key))
      const left = leftMsOf(decision, duration)
      if (!decision.allowed)
        return [0, Math.floor(Date.now() / 1_000) + 1 + Math.ceil(left / 1_000), max]
      return [Math.min(max, decision.remaining + 1), secondOf(left), max]
    },
    multi() {
      throw misuse('async-ratelimiter is older than 1.5; update it')
    },
  }
  return db as WeirDb & Db
}

function secondOf(inMs: number): number {
  return Math.ceil((Date.now() + inMs) / 1_000)
}
