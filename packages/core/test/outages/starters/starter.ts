// The child process: when it is told a port, its first calls wait for their turns there.

import type { Redis } from 'ioredis'
import { leakyBucket } from '../../../src/algorithms/bucket/policies.js'
import { RateLimiter } from '../../../src/limiter/limiter.js'
import { recommendedRedisOptions } from '../../../src/redis/clients/ioredis/recommended.js'
import { redisStore } from '../../../src/redis/store.js'

/** 10 a second, one by one. */
const policy = leakyBucket({ name: 'rate', capacity: 1, leak: 10, every: '1s', maxWait: '30s' })
export const TURN_MS = 100
/** How many calls each process makes. */
export const CALLS = 8

export interface StartJob {
  readonly port: number
  readonly deadlineMs: number
  /** Of the key: no attempt is to see another one's turns. */
  readonly key: string
}

/** The sources of the decisions. */
export type StartReport = readonly string[]

export function serve(
  Client: new (port: number, options: typeof recommendedRedisOptions) => Redis,
): void {
  process.on('message', async ({ port, deadlineMs, key }: StartJob) => {
    const client = new Client(port, recommendedRedisOptions)
    client.on('error', () => {})
    const store = redisStore(client, { deadlineMs, prefix: key })
    const limiter = new RateLimiter({ name: 'outgoing', store, policy, shared: true })
    const calls = Array.from({ length: CALLS }, () => limiter.wait(key))
    process.send?.((await Promise.all(calls)).map(({ source }) => source))
    await store.close()
    client.disconnect()
  })
  process.send?.('ready')
}
