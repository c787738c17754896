// The memory of a million keys in a real server.

import { startRedis } from '@weir/testkit'
import {
  fixedWindow,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../../packages/core/src/index.js'
import { RateLimiter } from '../../../../packages/core/src/limiter/limiter.js'
import { redisStore } from '../../../../packages/core/src/redis/store.js'
import type { KeyMemory } from './inputs.js'
import { connected, PATIENT_MS } from './real-process.js'
import { statsOf } from './server-stats.js'

/** A quarter of a million keys fill the server's tables, which double, as much as a million do. */
const KEYS = 250_000
const AT_ONCE = 500

const limit = { limit: 100, window: '1h' } as const
const POLICIES: Readonly<Record<string, Policy>> = {
  tokenBucket: tokenBucket({ capacity: 100, refill: 100, every: '1h' }),
  fixedWindow: fixedWindow(limit),
  slidingCounter: slidingCounter(limit),
  slidingWindow: slidingWindow(limit),
  slidingLog: slidingLog(limit),
}

export async function measureMemory(): Promise<readonly KeyMemory[]> {
  const all: KeyMemory[] = []
  for (const [policy, made] of Object.entries(POLICIES))
    all.push({ policy, megabytes: (await bytesOf(made)) / 1e6 })
  return all
}

/** The memory of a million keys. */
async function bytesOf(policy: Policy): Promise<number> {
  const server = await startRedis()
  const client = await connected(server.port)
  const store = redisStore(client, { instances: 1, deadlineMs: PATIENT_MS })
  const limiter = new RateLimiter({ name: 'api', store, policy })
  try {
    await limiter.consume('first')
    const before = await statsOf(server)
    for (let at = 0; at < KEYS; at += AT_ONCE) {
      // 20 characters, as in docs/benchmarks.md.
      const keys = Array.from(
        { length: AT_ONCE },
        (_, i) => `user-${String(at + i).padStart(15, '0')}`,
      )
      await Promise.all(keys.map((key) => limiter.consume(key)))
    }
    const stored = Number(await server.command('DBSIZE'))
    if (stored < KEYS) throw new Error(`Redis has ${stored} of ${KEYS} keys: it was too slow`)
    const after = await statsOf(server)
    return ((after.usedMemory - before.usedMemory) / KEYS) * 1e6
  } finally {
    limiter.close()
    await store.close()
    client.disconnect()
    await server.stop()
  }
}
