// The store under @fastify/rate-limit 9, 10 and 11, which is a class: the plug-in makes one object
// of it, and of that a child for each route with limits of its own.

import type { Store } from '@weir/core'
import { check, misuse } from './checked.js'
import { hitsOf, leftMsOf } from './counted.js'
import { keyOf } from './key.js'
import { COMMON, type CompatOptions, limitersOf, windowsOf } from './limiters.js'

export type { CompatOptions } from './limiters.js'

/** What is read of what the plug-in tells its store, of all routes or of one. */
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

/** As the stores of @fastify/rate-limit. */
export interface WeirStore {
  incr(key: string, callback: Callback, ...numbers: number[]): void
  read(key: string, callback: Callback, ...numbers: number[]): void
  child(routeOptions: object): WeirStore
}

export type WeirStoreClass = new (pluginOptions: object) => WeirStore

/**
 * The store of @fastify/rate-limit, over any of Weir's.
 *
 * Requests that are refused are counted for `ban` only.
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
    readonly #prefix: string

    constructor(pluginOptions: PluginOptions, prefix = '') {
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
      this.#prefix = prefix
    }

    incr(key: string, callback: Callback, ...numbers: number[]): void {
      answer(callback, async () => {
        const { max, timeWindow } = this.#limitOf(numbers)
        const decision = await limiterFor(max, timeWindow).consume(keyOf(this.#prefix + key))
        const { ban = -1 } = this.#options
        const ttl = leftMsOf(decision, timeWindow)
        if (decision.allowed || ban < 0) return { current: hitsOf(decision), ttl }
        // The same counter by a larger limit, which says how far it is past this one.
        const larger = limiterFor(max + ban + 1, timeWindow)
        const { limit, remaining } = await larger.penalty(keyOf(this.#prefix + key))
        return { current: Math.max(max + 1, limit - remaining), ttl }
      })
    }

    read(key: string, callback: Callback, ...numbers: number[]): void {
      answer(callback, async () => {
        const { max, timeWindow } = this.#limitOf(numbers)
        const limiter = limiterFor(max, timeWindow)
        const { limit, remaining, resetAfterMs } = await limiter.peek(keyOf(this.#prefix + key))
        return { current: limit - remaining, ttl: resetAfterMs }
      })
    }

    child(routeOptions: PluginOptions): WeirStore {
      const { method, url } = routeOptions.routeInfo ?? {}
      const Child = this.constructor as new (options: object, prefix: string) => WeirStore
      return new Child(routeOptions, `${this.#prefix}${method}${url}-`)
    }

    /** Version 9 says the limit and `ban`, later ones the window and the limit. */
    #limitOf([first = 0, second = 0]: readonly number[]): { max: number; timeWindow: number } {
      const isOf9 = !('exponentialBackoff' in this.#options)
      if (isOf9) return { max: first, timeWindow: Number(this.#options.timeWindow) }
      return { max: second, timeWindow: first }
    }
  }
}

function answer(callback: Callback, count: () => Promise<Counted>): void {
  // A callback that throws is none of the store's.
  count().then(
    (counted) => callback(null, counted),
    (error: Error) => callback(error),
  )
}
