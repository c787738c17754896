// The store for @fastify/rate-limit 9, 10 and 11. It is a class: the plug-in makes one object of
// it, and from that object a child for each route with its own limits.

import type { Store } from '@weir/core'
import { check, misuse } from './checked.js'
import { hitsOf, leftMsOf } from './counted.js'
import { keyOf } from './key.js'
import { COMMON, type CompatOptions, limitersOf, windowsOf } from './limiters.js'

export type { CompatOptions } from './limiters.js'

/** The options of the plug-in, for all routes or for one, that its store reads. */
interface PluginOptions {
  readonly timeWindow?: unknown
  readonly ban?: number
  readonly continueExceeding?: boolean
  readonly exponentialBackoff?: boolean
  readonly routeInfo?: { readonly method?: unknown; readonly url?: unknown }
}

export interface Counted {
  current: number
  /** Milliseconds. */
  ttl: number
}

export type Callback = (error: Error | null, counted?: Counted) => void

/** The form of @fastify/rate-limit's stores. */
export interface WeirStore {
  incr(key: string, callback: Callback, ...numbers: number[]): void
  read(key: string, callback: Callback, ...numbers: number[]): void
  child(routeOptions: object): WeirStore
}

export type WeirStoreClass = new (pluginOptions: object) => WeirStore

/**
 * The store of @fastify/rate-limit, over any of Weir's stores.
 *
 * Refused requests are counted only for `ban`.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME. The class throws
 * WEIR_INVALID_OPTION for `continueExceeding` and `exponentialBackoff`
 * @example
 * await fastify.register(rateLimit, {
 *   max: 100,
 *   timeWindow: '1 minute',
 *   store: weirStore(redisStore(client)),
 * })
 */
export function weirStore(store: Store, options: CompatOptions = {}): WeirStoreClass {
  const { name = 'fastify-rate-limit' } = options ?? {}
  check(store, options, name, COMMON)
  const limiterFor = limitersOf(store, { ...options, name }, windowsOf(options))

  return class implements WeirStore {
    readonly #options: PluginOptions
    /** Methods and addresses of the route, and of those that it is a child of. */
    readonly #routes: readonly string[]

    constructor(pluginOptions: PluginOptions, routes: readonly string[] = []) {
      for (const option of ['continueExceeding', 'exponentialBackoff'] as const) {
        if (pluginOptions[option] !== true) continue
        const right = 'refused requests make no window longer here; leave it out'
        throw misuse(`${option} of @fastify/rate-limit is true; ${right}`)
      }
      const { ban = -1 } = pluginOptions
      if (ban >= 0 && options.algorithm === 'sliding-window') {
        const right = 'refused requests can be counted in fixed windows only'
        throw misuse(`ban of @fastify/rate-limit is set; ${right}`)
      }
      this.#options = pluginOptions
      this.#routes = routes
    }

    incr(key: string, callback: Callback, ...numbers: number[]): void {
      answer(callback, async () => {
        const { max, timeWindow } = this.#limitOf(numbers)
        const decision = await limiterFor(max, timeWindow).consume(keyOf(key, this.#routes))
        const { ban = -1 } = this.#options
        const ttl = leftMsOf(decision, timeWindow)
        if (decision.allowed || ban < 0) return { current: hitsOf(decision), ttl }
        // The same counter with a larger limit shows how far the key is past this limit.
        const larger = limiterFor(max + ban + 1, timeWindow)
        const { limit, remaining } = await larger.penalty(keyOf(key, this.#routes))
        return { current: Math.max(max + 1, limit - remaining), ttl }
      })
    }

    read(key: string, callback: Callback, ...numbers: number[]): void {
      answer(callback, async () => {
        const { max, timeWindow } = this.#limitOf(numbers)
        const limiter = limiterFor(max, timeWindow)
        const { limit, remaining, resetAfterMs } = await limiter.peek(keyOf(key, this.#routes))
        return { current: limit - remaining, ttl: resetAfterMs }
      })
    }

    child(routeOptions: PluginOptions): WeirStore {
      const { method, url } = routeOptions.routeInfo ?? {}
      const Child = this.constructor as new (options: object, routes: string[]) => WeirStore
      return new Child(routeOptions, [...this.#routes, String(method), String(url)])
    }

    /** Version 9 passes the limit and `ban`, later versions the window and the limit. */
    #limitOf([first = 0, second = 0]: readonly number[]): { max: number; timeWindow: number } {
      const isOf9 = !('exponentialBackoff' in this.#options)
      if (isOf9) return { max: first, timeWindow: Number(this.#options.timeWindow) }
      return { max: second, timeWindow: first }
    }
  }
}

function answer(callback: Callback, count: () => Promise<Counted>): void {
  // An error that the callback throws is not the store's.
  count().then(
    (counted) => callback(null, counted),
    (error: Error) => callback(error),
  )
}
