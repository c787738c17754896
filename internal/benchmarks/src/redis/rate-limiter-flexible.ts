import type { Cluster, Redis } from 'ioredis'
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import { connected, connectedToCluster } from './client.js'
import type { RedisSubject, RedisSubjectKind } from './subject.js'

/** As in its wiki, for ioredis. */
const options = { enableOfflineQueue: false } as const

export const rateLimiterFlexible: RedisSubjectKind = {
  name: 'rate-limiter-flexible',
  kind: 'peer',
  open: async (port, limit) => limiting(await connected(port, options), limit),
}

export const rateLimiterFlexibleOnCluster: RedisSubjectKind = {
  ...rateLimiterFlexible,
  open: async (port, limit) => limiting(await connectedToCluster(port, options), limit),
}

function limiting(client: Redis | Cluster, limit: number): RedisSubject {
  const limiter = new RateLimiterRedis({ storeClient: client, points: limit, duration: 3_600 })
  return {
    ask: (key) => limiter.consume(key),
    left: (answer) => (answer as RateLimiterRes).remainingPoints,
    // It rejects when it refuses.
    allowed: () => true,
    close: async () => client.disconnect(),
  }
}
