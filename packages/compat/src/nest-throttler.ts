// The storage for @nestjs/throttler 6 and 5. A `blockDuration`, by default the throttler's `ttl`,
// is a lock-out that begins with the first request above the limit. Version 5 has none, and passes
// neither its limit nor the throttler's name, which is in the key.

import { lockout, type Store } from '@weir/core'
import { check, misuse } from './checked.js'
import { hitsOf, leftMsOf } from './counted.js'
import { keyOf } from './key.js'
import { COMMON, type CompatOptions, limitersOf, windowsOf } from './limiters.js'

export type { CompatOptions } from './limiters.js'

export interface WeirStorageOptions extends CompatOptions {
  /** The largest limit of any throttler and route, for @nestjs/throttler 5, which does not pass
   *  limits to its storage. */
  readonly limit?: number | undefined
}

/** The form of @nestjs/throttler's `ThrottlerStorage`. */
export interface WeirStorage {
  increment(
    key: string,
    ttl: number,
    limit?: number,
    blockDuration?: number,
    throttlerName?: string,
  ): Promise<Throttled>
}

/** Times are in seconds. */
export interface Throttled {
  totalHits: number
  timeToExpire: number
  isBlocked: boolean
  timeToBlockExpire: number
}

/**
 * Storage for @nestjs/throttler, over any of Weir's stores. The throttlers of a module are asked
 * one after the other, so a request that one of them refuses has been charged to those before it.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME. Requests fail with
 * WEIR_INVALID_OPTION under version 5 where no limit is given here
 * @example
 * ThrottlerModule.forRoot({
 *   throttlers: [{ ttl: 60_000, limit: 100 }],
 *   storage: weirStorage(redisStore(client)),
 * })
 */
export function weirStorage(store: Store, options: WeirStorageOptions = {}): WeirStorage {
  const { name = 'nest-throttler', limit: largest } = options ?? {}
  check(store, options, `${name}-block`, [...COMMON, 'limit'])
  const limiterFor = limitersOf(store, { ...options, name }, windowsOf(options))
  const blockingFor = limitersOf(
    store,
    { ...options, name: `${name}-block` },
    (limit: number, window: number, block: number) =>
      lockout({ limit, window, block: [block], forget: block, starts: 'excess' }),
  )

  /** For version 5, which judges by a limit that is not known here. */
  async function counted(key: string, ttl: number): Promise<Throttled> {
    if (largest === undefined)
      throw misuse('@nestjs/throttler 5 passes no limit: give weirStorage the largest, as limit')
    const decision = await limiterFor(largest, ttl).consume(keyOf(key))
    const timeToExpire = Math.ceil(leftMsOf(decision, ttl) / 1_000)
    const totalHits = decision.allowed ? hitsOf(decision) : Number.MAX_SAFE_INTEGER
    return { totalHits, timeToExpire, isBlocked: !decision.allowed, timeToBlockExpire: 0 }
  }

  return {
    async increment(key, ttl, limit, blockDuration = 0, throttlerName = '') {
      if (limit === undefined) return counted(key, ttl)
      const limiter =
        blockDuration > 0 ? blockingFor(limit, ttl, blockDuration) : limiterFor(limit, ttl)
      const decision = await limiter.consume(keyOf(key, [throttlerName]))
      const isBlocked = !decision.allowed
      return {
        totalHits: hitsOf(decision),
        timeToExpire: Math.ceil((limit > 0 ? decision.resetAfterMs : ttl) / 1_000),
        isBlocked,
        timeToBlockExpire: isBlocked ? Math.ceil(leftMsOf(decision, ttl) / 1_000) : 0,
      }
    },
  }
}
