import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import { connected } from './client.js'
import type { RedisSubjectKind } from './subject.js'

export const rateLimiterFlexible: RedisSubjectKind = {
  name: 'rate-limiter-flexible',
  kind: 'peer',
  async open(port, limit) {
    // As in its wiki, for ioredis.
    const client = await connected(port, { enableOfflineQueue: false })
    const limiter = new RateLimiterRedis({ storeClient: client, points: limit, duration: 3_600 })
    return {
      ask: (key) => limiter.consume(key),
      left: (answer) => (answer as RateLimiterRes).remainingPoints,
      // It rejects when it refuses.
      allowed: () => true,
      close: async () => client.disconnect(),
    }
  },
}
