// Weir as users set it up: every default on.

import {
  type Decision,
  fixedWindow,
  type Policy,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import { connected } from './client.js'
import { type RedisSubjectKind, UNIT_MS, WINDOW_MS } from './subject.js'

/** The policies that are measured, by the name of their row. */
const POLICIES: Readonly<Record<string, (limit: number) => Policy>> = {
  'Weir token bucket': (limit) => tokenBucket({ capacity: limit, refill: 1, every: UNIT_MS }),
  'Weir fixed window': (limit) => fixedWindow({ limit, window: WINDOW_MS }),
  'Weir sliding counter': (limit) => slidingCounter({ limit, window: WINDOW_MS }),
  'Weir sliding window': (limit) => slidingWindow({ limit, window: WINDOW_MS }),
  // A log of whole milliseconds: a minute of it is small enough for any limit.
  'Weir exact log': (limit) => slidingLog({ limit, window: 60_000 }),
}

export const WEIR: readonly string[] = Object.keys(POLICIES)
export const BUCKET = 'Weir token bucket'
export const FIXED = 'Weir fixed window'
export const COUNTER = 'Weir sliding counter'
export const SLIDING = 'Weir sliding window'
export const LOG = 'Weir exact log'

export const weir: readonly RedisSubjectKind[] = Object.entries(POLICIES).map(([name, policy]) => ({
  name,
  kind: 'weir',
  async open(port, limit) {
    const client = await connected(port, recommendedRedisOptions)
    const store = redisStore(client)
    const limiter = new RateLimiter({ store, policy: policy(limit) })
    let disturbed = false
    store.on('fallback', () => {
      disturbed = true
    })
    return {
      ask: (key) => limiter.consume(key),
      left: (answer) => (answer as Decision).remaining,
      disturbed() {
        const was = disturbed
        disturbed = false
        return was
      },
      allowed: (answer) => (answer as Decision).allowed,
      async close() {
        await store.close()
        client.disconnect()
      },
    }
  },
}))
