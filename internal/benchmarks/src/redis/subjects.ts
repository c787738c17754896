// All subjects that use Redis. Peers are called as their middleware or guard does, each with the
// client that its documentation names.

import RedisStoreOfFastify from '@fastify/rate-limit/store/RedisStore.js'
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis'
import type { IncrementResponse, Options } from 'express-rate-limit'
import type { Redis } from 'ioredis'
import RedisLimiter from 'koa-ratelimit/limiter/redis.js'
import { type RedisReply, RedisStore } from 'rate-limit-redis'
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import { connected } from './client.js'
import { type RedisSubject, type RedisSubjectKind, WINDOW_MS } from './subject.js'
import { weir } from './weir.js'

export const INCR = 'INCR'
export const RATE_LIMIT_REDIS = 'rate-limit-redis'

type Subject = Omit<RedisSubject, 'close'>

/** The least cost of a limiter that sends a command for each decision. */
const incr = subject(INCR, (client, limit) => ({
  ask: (key) => client.incr(key),
  left: (count) => limit - (count as number),
}))

/** The store that users of express-rate-limit pass to it. */
const rateLimitRedis = subject(RATE_LIMIT_REDIS, async (client, limit) => {
  const store = new RedisStore({
    sendCommand: (command, ...args) => client.call(command, ...args) as Promise<RedisReply>,
  })
  await store.init({ windowMs: WINDOW_MS } as Options)
  return {
    ask: (key) => store.increment(key),
    left: (answer) => Math.max(0, limit - (answer as IncrementResponse).totalHits),
    allowed: (answer) => (answer as IncrementResponse).totalHits <= limit,
  }
})

const rateLimiterFlexible = subject(
  'rate-limiter-flexible',
  (storeClient, points) => {
    const limiter = new RateLimiterRedis({ storeClient, points, duration: 3_600 })
    return {
      ask: (key) => limiter.consume(key),
      left: (answer) => (answer as RateLimiterRes).remainingPoints,
      // It rejects when it refuses.
      allowed: () => true,
    }
  },
  { enableOfflineQueue: false },
)

/** The store behind its option `redis`. */
const fastifyRateLimit = subject(
  '@fastify/rate-limit',
  (client, limit) => {
    type Answer = { readonly current: number }
    const store = new RedisStoreOfFastify(false, false, client)
    return {
      ask: (key) =>
        new Promise<Answer>((resolve, reject) => {
          store.incr(
            key,
            (error, answer) => (error ? reject(error) : resolve(answer)),
            WINDOW_MS,
            limit,
          )
        }),
      left: (answer) => Math.max(0, limit - (answer as Answer).current),
      allowed: (answer) => (answer as Answer).current <= limit,
    }
  },
  { connectTimeout: 500, maxRetriesPerRequest: 1 },
)

/** The storage that users of @nestjs/throttler pass to it. */
const nestThrottler = subject('@nest-lab/throttler-storage-redis', (client, limit) => {
  const storage = new ThrottlerStorageRedisService(client)
  type Answer = Awaited<ReturnType<typeof storage.increment>>
  return {
    ask: (key) => storage.increment(key, WINDOW_MS, limit, WINDOW_MS, 'default'),
    left: (answer) => Math.max(0, limit - (answer as Answer).totalHits),
    allowed: (answer) => !(answer as Answer).isBlocked,
  }
})

/** What its middleware does for a request, with the driver 'redis'. */
const koaRatelimit = subject('koa-ratelimit', (db, max) => ({
  ask: (id) => new RedisLimiter({ db, id, max, duration: WINDOW_MS }).get(),
  // `get` reports what was left before this request.
  left: (answer) => (answer as { remaining: number }).remaining - 1,
  allowed: (answer) => (answer as { remaining: number }).remaining > 0,
}))

export const subjects: readonly RedisSubjectKind[] = [
  incr,
  ...weir,
  rateLimitRedis,
  rateLimiterFlexible,
  fastifyRateLimit,
  nestThrottler,
  koaRatelimit,
]

/** A floor or a peer, with a client of its own. */
function subject(
  name: string,
  of: (client: Redis, limit: number) => Subject | Promise<Subject>,
  options: Parameters<typeof connected>[1] = {},
): RedisSubjectKind {
  return {
    name,
    kind: name === INCR ? 'floor' : 'peer',
    async open(port, limit) {
      const client = await connected(port, options)
      return { ...(await of(client, limit)), close: async () => client.disconnect() }
    },
  }
}
