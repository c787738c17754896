// Weir as users set it up, with all defaults.

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

export const BUCKET = 'Weir token bucket'
const FIXED = 'Weir fixed window'
const COUNTER = 'Weir sliding counter'
const SLIDING = 'Weir sliding window'
const LOG = 'Weir exact log'

/** The measured policies, by the name of their row. */
const POLICIES: Readonly<Record<string, (limit: number) => Policy>> = {
  [BUCKET]: (limit) => tokenBucket({ capacity: limit, refill: 1, every: UNIT_MS }),
  [FIXED]: (limit) => fixedWindow({ limit, window: WINDOW_MS }),
  [COUNTER]: (limit) => slidingCounter({ limit, window: WINDOW_MS }),
  [SLIDING]: (limit) => slidingWindow({ limit, window: WINDOW_MS }),
  // A log with whole milliseconds: for one minute it is small enough for any limit.
  [LOG]: (limit) => slidingLog({ limit, window: 60_000 }),
}

export const WEIR: readonly string[] = Object.keys(POLICIES)

export const weir: readonly RedisSubjectKind[] = WEIR.map((name) => ({
  name,
  kind: 'weir',
  async open(port, limit) {
    const client = await connected(port, recommendedRedisOptions)
    const store = redisStore(client)
    const policy = (POLICIES[name] as (limit: number) => Policy)(limit)
    const limiter = new RateLimiter({ store, policy, shared: true })
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
