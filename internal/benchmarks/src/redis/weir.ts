// Weir as users set it up, with all defaults.

import {
  type Decision,
  fixedWindow,
  type Policy,
  RateLimiter,
  type RedisStoreOptions,
  recommendedRedisOptions,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import type { RedisLike } from '@weir/core/store'
import { connected } from './client.js'
import { type RedisSubject, type RedisSubjectKind, UNIT_MS, WINDOW_MS } from './subject.js'

export const BUCKET = 'Weir token bucket'
export const FIXED = 'Weir fixed window'
export const COUNTER = 'Weir sliding counter'
export const SLIDING = 'Weir sliding window'
export const LOG = 'Weir exact log'

/** The most requests in one call. */
export const LARGEST_CALL = 32

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
  largestCall: LARGEST_CALL,
  async open(port, limit) {
    return limiting(await connected(port, recommendedRedisOptions), name, limit)
  },
}))

interface Client extends RedisLike {
  disconnect(): void
}

/** What is passed to `redisStore`, and how it ends. */
interface Given {
  readonly adapted: Parameters<typeof redisStore>[0]
  readonly disconnect: () => void
}

/** A limiter with the policy of that name, over a client that ends with it. */
export function limiting(
  given: Client | Given,
  name: string,
  limit: number,
  options: RedisStoreOptions = {},
): RedisSubject {
  const store = redisStore('adapted' in given ? given.adapted : given, options)
  const limiter = new RateLimiter({
    store,
    policy: (POLICIES[name] as (limit: number) => Policy)(limit),
    shared: true,
  })
  let disturbed = false
  store.on('fallback', () => {
    disturbed = true
  })
  return {
    ask: (key) => limiter.consume(key),
    // What was left at a decision from a lease does not include what others took since; a peek ends
    // the lease.
    left: async (answer) => {
      const { key, remaining } = answer as Decision
      return options.leases === undefined ? remaining : (await limiter.peek(key)).remaining
    },
    disturbed() {
      const was = disturbed
      disturbed = false
      return was
    },
    allowed: (answer) => (answer as Decision).allowed,
    takesAhead: options.leases !== undefined,
    async close() {
      await store.close()
      given.disconnect()
    },
  }
}
