// The store for express-rate-limit 7 and 8, and for what takes its options, such as the handlers of
// the MCP SDK.

import type { RateLimiter, Store } from '@weir/core'
import { check, misuse } from './checked.js'
import { hitsOf, leftMsOf } from './counted.js'
import { keyOf } from './key.js'
import { COMMON, type CompatOptions, limitersOf, windowsOf } from './limiters.js'
import { Refused } from './refused.js'

export type { CompatOptions } from './limiters.js'

export interface WeirStoreOptions extends CompatOptions {
  /** The largest limit of any request, where the middleware's `limit` is a function: the middleware
   *  does not tell its store what that function returns. */
  readonly limit?: number | undefined
}

/** The options of the middleware that its store reads. */
export interface MiddlewareOptions {
  readonly windowMs: number
  readonly limit: unknown
  readonly skipFailedRequests?: boolean
  readonly skipSuccessfulRequests?: boolean
}

/** The form of express-rate-limit's `Store`. */
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
 * The store of one limiter of express-rate-limit, over any of Weir's stores. Each limiter needs its
 * own, with its own `name`; all may use the same store of Weir's.
 *
 * Refused requests are not counted, so `totalHits` is at most one more than the limit. Where the
 * middleware's `limit` is a function, `totalHits` is `Number.MAX_SAFE_INTEGER` for requests above
 * the limit given here.
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
  return storeOf(store, options, EXPRESS)
}

/** The differences between the stores of two middlewares that have the same form. */
export interface Form {
  readonly defaultName: string
  /** Whether the middleware takes back requests that it has refused. */
  takesBackRefused(options: MiddlewareOptions): boolean
}

/** To express-rate-limit, a refusal is a failed request. */
const EXPRESS: Form = {
  defaultName: 'express-rate-limit',
  takesBackRefused: ({ skipFailedRequests = false }) => skipFailedRequests,
}

/** What `init` has made. */
interface Ready {
  readonly limiter: RateLimiter
  readonly windowMs: number
  /** Requests that were refused, where the middleware takes them back. */
  readonly refused: Refused | undefined
  /** Whether the middleware judges by a limit that is not known here. */
  readonly isOwnLimit: boolean
}

export function storeOf(store: Store, options: WeirStoreOptions, form: Form): WeirStore {
  const { name = form.defaultName, limit: largest } = options ?? {}
  check(store, options, name, [...COMMON, 'limit'])
  const limiterFor = limitersOf(store, { ...options, name }, windowsOf(options))
  let made: Ready | undefined
  let missing: unknown = misuse('init() was not called: give the store to the middleware')
  const ready = (): Ready => {
    if (made === undefined) throw missing
    return made
  }

  function init(middleware: MiddlewareOptions): void {
    const { windowMs, limit } = middleware
    const isOwnLimit = typeof limit === 'function'
    const most = isOwnLimit ? largest : (limit as number)
    if (most === undefined)
      throw misuse('limit of the middleware is a function: give weirStore its largest result')
    const refused = form.takesBackRefused(middleware) ? new Refused() : undefined
    made = { limiter: limiterFor(most, windowMs), windowMs, refused, isOwnLimit }
  }

  return {
    prefix: name,
    localKeys: false,
    init(middleware) {
      try {
        init(middleware)
      } catch (error) {
        // express-rate-limit logs this error and still calls the store.
        missing = error
        throw error
      }
    },
    async get(key) {
      const { limit, remaining, resetAfterMs } = await ready().limiter.peek(keyOf(key))
      if (remaining === limit) return undefined
      return { totalHits: limit - remaining, resetTime: new Date(Date.now() + resetAfterMs) }
    },
    async increment(key) {
      const { limiter, windowMs, refused, isOwnLimit } = ready()
      const decision = await limiter.consume(keyOf(key))
      const resetMs = Date.now() + leftMsOf(decision, windowMs)
      if (!decision.allowed) refused?.add(keyOf(key), resetMs)
      // A request refused here must be refused, whatever the middleware's limit is.
      const isOver = !decision.allowed && isOwnLimit
      const totalHits = isOver ? Number.MAX_SAFE_INTEGER : hitsOf(decision)
      return { totalHits, resetTime: new Date(resetMs) }
    },
    async decrement(key) {
      const { limiter, refused } = ready()
      if (refused?.take(keyOf(key)) !== true) await limiter.refund(keyOf(key), { cost: 1 })
    },
    async resetKey(key) {
      const { limiter, refused } = ready()
      refused?.delete(keyOf(key))
      await limiter.reset(keyOf(key))
    },
  }
}
