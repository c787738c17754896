// For a machine that is busy: clients set up as recommended, but with time; and a Redis store that
// asks Redis and nobody else: no deadline to speak of, no fallback, no denial from memory.

import { Redis } from 'ioredis'
import { processTime, type Time } from '../../src/base/time.js'
import type { ConnectionOptions } from '../../src/redis/client.js'
import {
  recommendedClusterOptions,
  recommendedRedisOptions,
} from '../../src/redis/clients/ioredis/recommended.js'
import type { RedisLike } from '../../src/redis/clients/ioredis/redis-like.js'
import { ioredisConnection } from '../../src/redis/clients/ioredis.js'
import type { RedisStoreOptions } from '../../src/redis/options.js'
import { type RedisStore, redisStore, redisStoreIn } from '../../src/redis/store.js'

const PATIENCE = { connectTimeout: 5_000 }

export const patientOptions: typeof recommendedRedisOptions = {
  ...recommendedRedisOptions,
  ...PATIENCE,
}

export const patientClusterOptions: typeof recommendedClusterOptions = {
  ...recommendedClusterOptions,
  // A connection that is not open yet is asked again every 10 ms.
  maxRedirections: 100,
  redisOptions: { ...recommendedClusterOptions.redisOptions, ...PATIENCE },
}

/** Once it is connected: it queues nothing before. */
export async function patientClient(port: number): Promise<Redis> {
  const client = new Redis(port, patientOptions)
  await new Promise((resolve) => client.once('ready', resolve))
  return client
}

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

/** Of a connection that is never given up. */
export const CALM: ConnectionOptions = { deadlineMs: 60_000, time: processTime }

/** A store of an ioredis client in another time than the process's. */
export function redisStoreOf(
  time: Time,
  client: RedisLike,
  options: RedisStoreOptions,
): RedisStore {
  const { deadlineMs = 100 } = options
  return redisStoreIn(time, ioredisConnection(client, { deadlineMs, time }), options)
}
