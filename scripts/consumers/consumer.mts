// A TypeScript application that installed the packed tarballs: checked as ESM, and, under its other name, as CommonJS.
import { type Decision, fixedWindow, memoryStore, RateLimiter, redisStore, tokenBucket } from '@weir/core'
import { rateLimit } from '@weir/express'
import { rateLimit as koaLimit } from '@weir/koa'
import { RateLimitModule } from '@weir/nest'
import express from 'express'
import { Cluster, Redis } from 'ioredis'
import Koa from 'koa'

const limiter = new RateLimiter({
  store: memoryStore(),
  policy: [
    tokenBucket({ name: 'burst', capacity: 20, refill: 10, every: '1s' }),
    fixedWindow({ name: 'daily', limit: 10_000, window: '1d' }),
  ],
})

export async function wait(key: string): Promise<number> {
  const decision: Decision = await limiter.consume(key, { cost: 2 })
  // Exists only on a denial.
  return decision.allowed ? 0 : decision.retryAfterMs
}

// @ts-expect-error a limit is a number
fixedWindow({ limit: 'many', window: '1m' })

const single = redisStore(new Redis({ lazyConnect: true }))
const cluster = redisStore(new Cluster([], { lazyConnect: true }))

export const app = express()
app.use(rateLimit({ limit: 100, window: '1m' }))
app.use(rateLimit({ store: single, limit: 100, window: '1m', key: (req) => req.get('x-api-key') ?? 'none' }))
app.use(rateLimit({ store: cluster, policy: tokenBucket({ capacity: 5, refill: 1, every: '1s' }) }))

export const koa = new Koa()
koa.use(koaLimit({ limit: 100, window: '1m', key: (ctx) => ctx.get('x-api-key') }))
export const module = RateLimitModule.forRoot({ limit: 100, window: '1m' })
