// The limiter of all processes on one Redis.

import { type RedisStore, redisStore, type Store } from '@weir/core'
import { fromNodeRedis } from '@weir/core/node-redis'
import { misuse } from '../checked.js'
import { RateLimiterStoreAbstract } from './limiter.js'
import type { IRateLimiterRedisOptions } from './options.js'

/**
 * Counts in Redis or Valkey. Limiters on one client share one of Weir's stores. To choose the
 * store's options, give a store instead of a client.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, also for what rate-limiter-flexible can do
 * and Weir cannot: see docs/compat.md
 * @example
 * const storeClient = new Redis('redis://localhost:6379', recommendedRedisOptions)
 * const limiter = new RateLimiterRedis({ storeClient, keyPrefix: 'api', points: 10, duration: 1 })
 * limiter.consume('u42').then(() => 'passes', () => 'is refused')
 */
export class RateLimiterRedis extends RateLimiterStoreAbstract {
  constructor(options: IRateLimiterRedisOptions) {
    for (const [option, right] of NOT_HERE) {
      if (!(options as unknown as Record<string, unknown> | undefined)?.[option]) continue
      throw misuse(`${option} of RateLimiterRedis is set; ${right}`)
    }
    super(options, storeOf(options?.storeClient))
  }
}

const NOT_HERE = [
  [
    'customIncrTtlLuaScript',
    "Weir's script decides: leave it out, or use another policy of Weir's",
  ],
  ['useRedis3AndLowerPackage', 'give a client of ioredis, or of node-redis 5 or 6'],
] as const

const stores: WeakMap<object, RedisStore> = new WeakMap()

function storeOf(client: unknown): Store {
  if (client === undefined) throw misuse('storeClient is not set; give a client of ioredis')
  if (typeof (client as Partial<Store> | null)?.decide === 'function') return client as Store
  const known = stores.get(client as object)
  if (known !== undefined) return known
  const { withTypeMapping } = (client ?? {}) as Record<string, unknown>
  const isOfNodeRedis = typeof withTypeMapping === 'function'
  const store = redisStore(isOfNodeRedis ? fromNodeRedis(client as never) : (client as never))
  stores.set(client as object, store)
  return store
}
