// The store under express-rate-limit 7 and 8, and under what takes its options, as the handlers of
// the MCP SDK do.

import type { RateLimiter, Store } from '@weir/core'
import { check, misuse } from './checked.js'
import { hitsOf, leftMsOf } from './counted.js'
import { COMMON, type CompatOptions, limitersOf, windowsOf } from './limiters.js'
import { Refused } from './refused.js'

export type { CompatOptions } from './limiters.js'

export interface WeirStoreOptions extends CompatOptions {
  /** The largest limit of any request, where the `limit` of the middleware is a function: the store
   *  is not told what that returns. */
  readonly limit?: number | undefined
}

/** What the middleware tells its store. */
export interface MiddlewareOptions {
  readonly windowMs: number
  readonly limit: unknown
}

/** As express-rate-limit's `Store`. */
export interface WeirStore {
  readonly prefix: string
  readonly localKeys: false
  init(options: MiddlewareOptions): void
  get(key: string): Promise<Counted | undefined>
  increment(key: string): Promise<Counted>
  decrement(key: string): Promise<void>
  resetKey(key: string): Promise<void>
}

export interface Counted {
  totalHits: number
  resetTime: Date
}

/**
 * The store of one limiter of express-rate-limit, over any of Weir's. Each limiter needs one of its
 * own, with a `name` of its own; they may be over one store of Weir's.
 *
 * Requests that are refused are not counted, so `totalHits` is never more than the limit and one.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME. `init` throws
 * WEIR_INVALID_OPTION where `limit` is a function and no limit is given here, and
 * WEIR_INVALID_POLICY
 * @example
 * const limiter = rateLimit({
 *   limit: 100,
 *   windowMs: 60_000,
 *   store: weirStore(redisStore(client), { name: 'api' }),
 * })
 */
export function weirStore(store: Store, options: WeirStoreOptions = {}): WeirStore {
  return storeOf(store, options, 'express-rate-limit')
}

/** hono-rate-limiter's stores have the same form. */
export function storeOf(store: Store, options: WeirStoreOptions, defaultName: string): WeirStore {
  const { name = defaultName, limit: largest } = options
  check(store, { ...options, name }, [...COMMON, 'limit'])
  const limiterFor = limitersOf(store, { ...options, name }, windowsOf(options))
  const refused = new Refused()
  let made: RateLimiter | undefined
  let missing: Error = misuse('init() was not called: give the store to the middleware')
  const limiter = (): RateLimiter => {
    if (made === undefined) throw missing
    return made
  }
  return {
    prefix: name,
    localKeys: false,
    init({ windowMs, limit }) {
      const most = typeof limit === 'function' ? largest : (limit as number)
      if (most === undefined) {
        missing = misuse('limit of the middleware is a function: give weirStore its largest result')
        throw missing
      }
      made = limiterFor(most, windowMs)
    },
    async get(key) {
      const { limit, remaining, resetAfterMs } = await limiter().peek(key)
      if (remaining === limit) return undefined
      return { totalHits: limit - remaining, resetTime: new Date(Date.now() + resetAfterMs) }
    },
    async increment(key) {
      const decision = await limiter().consume(key)
      const resetMs = Date.now() + leftMsOf(decision)
      if (!decision.allowed) refused.add(key, resetMs)
      return { totalHits: hitsOf(decision), resetTime: new Date(resetMs) }
    },
    async decrement(key) {
      // The middleware takes its own refusals back too, which were never counted.
      if (!refused.take(key)) await limiter().refund(key, { cost: 1 })
    },
    async resetKey(key) {
      refused.delete(key)
      await limiter().reset(key)
    },
  }
}
