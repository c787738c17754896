// The storage under @nestjs/throttler 6. A `blockDuration`, which is the throttler's `ttl` unless
// it is given, is a lock-out: it begins with the first request above the limit.

import { lockout, type Store } from '@weir/core'
import { check } from './checked.js'
import { hitsOf, leftMsOf } from './counted.js'
import { keyOf } from './key.js'
import { COMMON, type CompatOptions, limitersOf, windowsOf } from './limiters.js'

export type { CompatOptions } from './limiters.js'

/** As `ThrottlerStorage` of @nestjs/throttler. */
export interface WeirStorage {
  increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
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
 * Storage for @nestjs/throttler, over any of Weir's stores. Throttlers of one module are asked one
 * after the other, so what one of them refuses was charged to those before it.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME
 * @example
 * ThrottlerModule.forRoot({
 *   throttlers: [{ ttl: 60_000, limit: 100 }],
 *   storage: weirStorage(redisStore(client)),
 * })
 */
export function weirStorage(store: Store, options: CompatOptions = {}): WeirStorage {
  const { name = 'nest-throttler' } = options ?? {}
  check(store, options, `${name}-block`, COMMON)
  const limiterFor = limitersOf(store, { ...options, name }, windowsOf(options))
  const blockingFor = limitersOf(
    store,
    { ...options, name: `${name}-block` },
    (limit: number, window: number, block: number) =>
      lockout({ limit, window, block: [block], forget: block, starts: 'excess' }),
  )
  return {
    async increment(key, ttl, limit, blockDuration, throttlerName) {
      const limiter =
        blockDuration > 0 ? blockingFor(limit, ttl, blockDuration) : limiterFor(limit, ttl)
      const decision = await limiter.consume(keyOf(`${throttlerName}:${key}`))
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
