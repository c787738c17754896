import {
  type RateLimitOptions,
  rateLimit,
  recommendedRedisOptions,
  redisStore,
} from '@weir/express'
import express, { type RequestHandler } from 'express'
import { rateLimit as expressRateLimit } from 'express-rate-limit'
import { type RedisReply, RedisStore } from 'rate-limit-redis'
import { connected } from '../redis/client.js'
import { CLIENT_HEADER, type Limit } from './job.js'
import { listening } from './listening.js'

export async function startExpress(limit: Limit): Promise<number> {
  const app = express()
  const limiter = await limiterOf(limit)
  if (limiter) app.use(limiter)
  app.get('/', (_req, res) => {
    res.send('ok')
  })
  return listening(app.listen(0, '127.0.0.1'))
}

async function limiterOf({
  limiter,
  redisPort,
  limit,
  windowMs,
  name,
}: Limit): Promise<RequestHandler | undefined> {
  if (limiter === 'none') return undefined
  const client =
    redisPort === undefined
      ? undefined
      : await connected(redisPort, limiter === 'Weir' ? recommendedRedisOptions : {})
  if (limiter === 'peer') {
    return expressRateLimit({
      windowMs,
      limit,
      standardHeaders: 'draft-8',
      legacyHeaders: false,
      keyGenerator: (req) => name + req.get(CLIENT_HEADER),
      ...(client && {
        store: new RedisStore({
          sendCommand: (command, ...args) => client.call(command, ...args) as Promise<RedisReply>,
        }),
      }),
    })
  }
  const options: RateLimitOptions = {
    name,
    limit,
    window: windowMs,
    key: (req) => req.get(CLIENT_HEADER),
  }
  return rateLimit(client ? { ...options, store: redisStore(client) } : options) as RequestHandler
}
