// The store and limiter of a real process, with ioredis.

import { Redis } from 'ioredis'
import { recommendedRedisOptions } from '../../../../packages/core/src/index.js'
import { RateLimiter } from '../../../../packages/core/src/limiter/limiter.js'
import type { RedisStoreOptions } from '../../../../packages/core/src/redis/options.js'
import { redisStore } from '../../../../packages/core/src/redis/store.js'
import { policyFor, storeOptionsFor, type Workload } from './load.js'

/** A deadline so long that no decision is made without Redis, however busy the machine is. */
export const PATIENT_MS = 5_000

export interface Opened {
  readonly limiter: RateLimiter
  close(): Promise<void>
}

export async function connected(port: number): Promise<Redis> {
  const client = new Redis(port, '127.0.0.1', recommendedRedisOptions)
  client.on('error', () => {})
  if (client.status !== 'ready')
    await new Promise<void>((resolve) => client.once('ready', () => resolve()))
  return client
}

/** A limiter that has asked once. A new `name` for the limiter starts new counts. */
export async function openLimiter(
  client: Redis,
  workload: Workload,
  name: string,
  rank: number,
  options: RedisStoreOptions = {},
): Promise<Opened> {
  const store = redisStore(client, { ...storeOptionsFor(workload, rank), ...options })
  const limiter = new RateLimiter({ name, store, policy: policyFor(workload) })
  await limiter.consume('first')
  return {
    limiter,
    async close() {
      limiter.close()
      await store.close()
    },
  }
}
