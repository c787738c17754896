// For a busy machine: clients with the recommended options and long timeouts; and a Redis store on
// which only Redis decides, with a very long deadline, no fallback, and no deny cache.

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

/** Resolves when it is connected, since it queues nothing before. */
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

/** For a connection that is never given up. */
export const CALM: ConnectionOptions = { deadlineMs: 60_000, time: processTime }

/** In which nobody is late, and nothing that is held for a time is given back. */
const STILL: Time = {
  ...processTime,
  nowMs: () => 0,
  after: () => () => {},
  random: () => 0.5,
}

/** Like a patient store, in a time that stands still: for leases, which are held for a time. */
export function stillStore(client: RedisLike, options: RedisStoreOptions): RedisStore {
  return redisStoreOf(STILL, client, {
    maxInFlight: 1_000_000,
    whenUnavailable: 'throw',
    instances: 1,
    denyCache: false,
    ...options,
  })
}

/** A store on an ioredis client with another time than the process's. */
export function redisStoreOf(
  time: Time,
  client: RedisLike,
  options: RedisStoreOptions,
): RedisStore {
  const { deadlineMs = 100 } = options
  return redisStoreIn(time, ioredisConnection(client, { deadlineMs, time }), options)
}
