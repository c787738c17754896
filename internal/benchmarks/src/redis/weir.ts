// Weir as users set it up, with all defaults.

import { type Decision, RateLimiter, recommendedRedisOptions, redisStore } from '@weir/core'
import { BUCKET, LOG, POLICIES } from '../policies.js'
import { connected } from './client.js'
import { type RedisSubjectKind, UNIT_MS, WINDOW_MS } from './subject.js'

/** A log has whole milliseconds: for one minute it is small enough for any limit. */
const WINDOWS: Readonly<Record<string, number>> = { [BUCKET]: UNIT_MS, [LOG]: 60_000 }

export const WEIR: readonly string[] = Object.keys(POLICIES)

export const weir: readonly RedisSubjectKind[] = WEIR.map((name) => ({
  name,
  kind: 'weir',
  async open(port, limit) {
    const client = await connected(port, recommendedRedisOptions)
    const store = redisStore(client)
    const policy = POLICIES[name]?.(limit, WINDOWS[name] ?? WINDOW_MS) as never
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
