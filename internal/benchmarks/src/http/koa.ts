import { type RateLimitOptions, rateLimit, recommendedRedisOptions, redisStore } from '@weir/koa'
import Koa, { type Middleware } from 'koa'
import koaRatelimit from 'koa-ratelimit'
import { connected } from '../redis/client.js'
import { CLIENT_HEADER, type Limit } from './job.js'
import { listening } from './listening.js'

export async function startKoa(limit: Limit): Promise<number> {
  const app = new Koa()
  const limiter = await limiterOf(limit)
  if (limiter) app.use(limiter)
  app.use((ctx) => {
    ctx.body = 'ok'
  })
  return listening(app.listen(0, '127.0.0.1'))
}

async function limiterOf({
  limiter,
  redisPort,
  limit,
  windowMs,
  name,
}: Limit): Promise<Middleware | undefined> {
  if (limiter === 'none') return undefined
  if (limiter === 'peer') {
    return koaRatelimit({
      ...(redisPort === undefined
        ? { driver: 'memory', db: new Map() }
        : { driver: 'redis', db: await connected(redisPort) }),
      max: limit,
      duration: windowMs,
      id: (ctx) => name + ctx.get(CLIENT_HEADER),
    })
  }
  const options: RateLimitOptions = {
    name,
    limit,
    window: windowMs,
    key: (ctx) => ctx.get(CLIENT_HEADER),
  }
  if (redisPort === undefined) return rateLimit(options) as Middleware
  const store = redisStore(await connected(redisPort, recommendedRedisOptions))
  return rateLimit({ ...options, store }) as Middleware
}
