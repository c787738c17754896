// Storage for the rate limits of Better Auth from 1.6.17 on, which ask it for one atomic step.

import type { Store } from '@weir/core'
import { check, misuse } from './checked.js'
import { leftMsOf } from './counted.js'
import { keyOf } from './key.js'
import { COMMON, type CompatOptions, limitersOf, windowsOf } from './limiters.js'

export type { CompatOptions } from './limiters.js'

/** The form of Better Auth's `rateLimit.customStorage`. */
export interface WeirStorage {
  consume(key: string, rule: Rule): Promise<Consumed>
  /** Required by the types of 1.6. Versions that do not know `consume` call it: it rejects with
   *  WEIR_INVALID_OPTION. */
  get(): Promise<never>
  /** Like `get`. */
  set(): Promise<never>
}

export interface Rule {
  /** Seconds. */
  readonly window: number
  readonly max: number
}

export interface Consumed {
  allowed: boolean
  /** Seconds; null if the request is allowed. */
  retryAfter: number | null
}

/**
 * Storage for Better Auth's rate limits, over any of Weir's stores.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME
 * @example
 * const auth = betterAuth({
 *   rateLimit: { enabled: true, customStorage: weirStorage(redisStore(client)) },
 * })
 */
export function weirStorage(store: Store, options: CompatOptions = {}): WeirStorage {
  const { name = 'better-auth' } = options ?? {}
  check(store, options, name, COMMON)
  const limiterFor = limitersOf(store, { ...options, name }, windowsOf(options))
  return {
    async consume(key, { window, max }) {
      const windowMs = window * 1_000
      const decision = await limiterFor(max, windowMs).consume(keyOf(key))
      const { allowed } = decision
      return {
        allowed,
        retryAfter: allowed ? null : Math.ceil(leftMsOf(decision, windowMs) / 1_000),
      }
    },
    get: twoSteps,
    set: twoSteps,
  }
}

async function twoSteps(): Promise<never> {
  throw misuse('this Better Auth reads and writes its limits in two steps; update it to 1.6.17')
}
