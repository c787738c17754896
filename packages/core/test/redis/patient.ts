// A Redis store that asks Redis and nobody else, however busy the machine is: no deadline to speak of, no fallback,
// no denial from memory.

import { type RedisStore, type RedisStoreOptions, redisStore } from '../../src/stores/redis.js'
import type { RedisLike } from '../../src/stores/redis-call.js'

export function patientStore(client: RedisLike, options: RedisStoreOptions): RedisStore {
  return redisStore(client, {
    deadlineMs: 60_000,
    maxInFlight: 1_000_000,
    whenUnavailable: 'throw',
    instances: 1,
    denyCache: false,
    ...options,
  })
}
