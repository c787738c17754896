// koa-ratelimit 6 and 5, with an ioredis client and with Weir's `db`.

import { Redis } from 'ioredis'
import Koa, { type Context } from 'koa'
import of6 from 'koa-ratelimit'
import of5 from 'koa-ratelimit-5'
import { weirDb } from '../../src/koa-ratelimit.js'
import { listening, wanted } from './http.js'
import { type Behaviour, type Incumbent, times, type Version } from './incumbent.js'

function version(name: string, ratelimit: typeof of6): Version {
  return {
    version: name,
    serve(counting, options) {
      const db =
        counting.kind === 'own'
          ? { db: counting.redis, namespace: counting.prefix }
          : { db: weirDb(counting.store, { name: counting.name, shared: true }) }
      const app = new Koa()
      app.silent = true
      app.use(ratelimit({ max: 3, duration: 60_000, id: userOf, ...db, ...options }))
      app.use((ctx) => {
        ctx.status = wanted(ctx.headers)
        ctx.body = 'ok'
      })
      const listener = app.callback()
      return listening((request, response) => void listener(request, response))
    },
  }
}

const userOf = (ctx: Context): string => ctx.get('x-user')
const LOOK = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']

const behaviours: readonly Behaviour[] = [
  {
    promise: 'headers of requests that pass, and of refusals',
    options: { max: 1 },
    look: LOOK,
    asks: times(2),
    seen: '200 1 0 now+60 none, 429 1 0 now+60 60',
  },
  {
    promise: 'a request that waits as `Retry-After` says passes',
    options: { max: 1, duration: 2_500 },
    asks: [...times(2), { afterMs: 'told' }],
    seen: '200, 429, 200',
    differs: { own: 'it is rounded down, and so up to a second too short' },
  },
  {
    promise: '`headers`: names of them',
    options: { headers: { remaining: 'Left', reset: 'Again', total: 'Most' } },
    look: ['most', 'left', 'again', 'x-ratelimit-limit'],
    asks: [{}],
    seen: '200 3 2 now+60 none',
  },
  {
    promise: '`disableHeader`: none of them, only `Retry-After`',
    options: { disableHeader: true, max: 1 },
    look: LOOK,
    asks: times(2),
    seen: '200 none none none none, 429 none none none 60',
  },
  {
    promise: '`id`: requests that it is false for are not counted',
    options: { id: (ctx: Context) => userOf(ctx) !== 'free' && userOf(ctx) },
    asks: [...times(5, { user: 'free' }), ...times(4)],
    seen: '200 x8, 429',
  },
  {
    promise: '`whitelist`: requests that it is true for are not counted',
    options: { whitelist: (ctx: Context) => userOf(ctx) === 'free' },
    asks: [...times(5, { user: 'free' }), ...times(4)],
    seen: '200 x8, 429',
  },
  {
    promise: '`blacklist`: requests that it is true for are answered with 403',
    options: { blacklist: (ctx: Context) => userOf(ctx) === 'eve' },
    asks: [...times(2, { user: 'eve' }), {}],
    seen: '403 x2, 200',
  },
  {
    promise: '`status` and `errorMessage` of refusals',
    options: { max: 1, status: 503, errorMessage: 'slow down' },
    look: ['body'],
    asks: times(2),
    seen: '200 ok, 503 slow down',
  },
  {
    promise: '`throw`: refusals are thrown, with their headers',
    options: { max: 1, throw: true, errorMessage: 'slow down' },
    look: ['body', ...LOOK],
    asks: times(2),
    seen: '200 ok 1 0 now+60 none, 429 slow down 1 0 now+60 60',
  },
  {
    promise: '`onLimited` is called for refusals',
    options: {
      max: 1,
      onLimited: (ctx: Context) => {
        ctx.body = 'limited'
      },
    },
    look: ['body'],
    asks: times(2),
    seen: '200 ok, 429 limited',
    of: ['6'],
  },
]

export const koaRatelimit: Incumbent = {
  name: 'koa-ratelimit',
  own: 'its driver for Redis',
  client: (port) => new Redis(port),
  versions: [version('6', of6), version('5', of5)],
  behaviours,
  limitedTo: (max, duration) => ({ max, duration }),
  passed: 200,
}
