// express-rate-limit 8 and 7, on rate-limit-redis and on Weir's store.

import express, { type Request, type Response } from 'express'
import * as of8 from 'express-rate-limit'
import * as of7 from 'express-rate-limit-7'
import { Redis } from 'ioredis'
import { type RedisReply, RedisStore } from 'rate-limit-redis'
import { weirStore } from '../../src/express-rate-limit.js'
import { alike } from './alike.js'
import { listening, wanted } from './http.js'
import { type Behaviour, type Counting, type Incumbent, times, type Version } from './incumbent.js'

function storeFor(counting: Counting): of8.Store {
  if (counting.kind === 'weir')
    return weirStore(counting.store, { name: counting.name, shared: true, ...counting.options })
  const { redis, prefix } = counting
  const sendCommand = (command: string, ...args: string[]): Promise<RedisReply> =>
    redis.call(command, ...args) as Promise<RedisReply>
  return new RedisStore({ prefix, sendCommand })
}

const usedOf = (request: object): number | undefined => Reflect.get(request, 'rateLimit')?.used

function version(name: string, { rateLimit }: typeof of8): Version {
  return {
    version: name,
    async serve(counting, options) {
      const keyGenerator = (request: Request): string => request.header('x-user') ?? ''
      const middleware = rateLimit({
        ...{ windowMs: 60_000, limit: 3, keyGenerator, store: storeFor(counting) },
        ...options,
      })
      // The environment 'test' keeps errors off stderr.
      const app = express().set('env', 'test').use(middleware)
      app.get('/', (request, response) => {
        response.status(wanted(request.headers)).send(`${usedOf(request)} used`)
      })
      return {
        ...(await listening(app)),
        async act(what, user) {
          if (what === 'getKey') return `${(await middleware.getKey(user))?.totalHits} counted`
          middleware.resetKey(user)
          return 'done'
        },
      }
    },
  }
}

const OWN_BEHAVIOURS: readonly Behaviour[] = [
  {
    promise: "`standardHeaders: 'draft-8'`",
    options: { standardHeaders: 'draft-8', identifier: 'api', legacyHeaders: false },
    look: ['ratelimit'],
    asks: [{}],
    seen: '200 "api"; r=2; t=60',
    of: ['8'],
  },
  {
    promise: '`legacyHeaders`',
    look: ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
    asks: [{}],
    seen: '200 3 2 now+60',
  },
  {
    promise: '`handler` answers refusals',
    options: {
      limit: 1,
      handler: (_: Request, response: Response) => response.status(418).send('handled'),
    },
    look: ['body'],
    asks: times(2),
    seen: '200 1 used, 418 handled',
  },
]

export const expressRateLimit: Incumbent = {
  name: 'express-rate-limit',
  own: 'rate-limit-redis',
  client: (port) => new Redis(port),
  versions: [version('8', of8), version('7', of7 as unknown as typeof of8)],
  behaviours: [
    ...alike<Request, Response>({
      userOf: (request) => request.header('x-user'),
      statusOf: (_, response) => response.statusCode,
      usedOf,
    }),
    ...OWN_BEHAVIOURS,
  ],
  limitedTo: (limit, windowMs) => ({ limit, windowMs }),
  passed: 200,
}
