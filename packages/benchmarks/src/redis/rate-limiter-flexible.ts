import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import { connected } from './client.js'
import type { RedisSubjectKind } from './subject.js'

/** As its wiki sets it up for ioredis. */
export const rateLimiterFlexible: RedisSubjectKind = {
  name: 'rate-limiter-flexible',
  kind: 'peer',
  async open(port, limit) {
    const client = await connected(port, { enableOfflineQueue: false })
    const limiter = new RateLimiterRedis({ storeClient: client, points: limit, duration: 3_600 })
    return {
      ask: (key) => limiter.consume(key),
      left: (answer) => (answer as RateLimiterRes).remainingPoints,
      // It rejects what it refuses.
      allowed: () => true,
      close: async () => client.disconnect(),
    }
  },
}
