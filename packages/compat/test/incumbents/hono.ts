// hono-rate-limiter 0.5 and 0.4, on its RedisStore and on Weir's store.

import { type Context, Hono } from 'hono'
import * as of05 from 'hono-rate-limiter'
import * as of04 from 'hono-rate-limiter-0.4'
import { Redis } from 'ioredis'
import { weirStore } from '../../src/hono-rate-limiter.js'
import { alike } from './alike.js'
import { listeningTo, wanted } from './http.js'
import type { Counting, Incumbent, Version } from './incumbent.js'

/** The four commands that its store needs, by ioredis. */
function storeFor(counting: Counting): of05.Store {
  if (counting.kind === 'weir')
    return weirStore(counting.store, { name: counting.name, shared: true, ...counting.options })
  const { redis, prefix } = counting
  const client = {
    scriptLoad: (script: string) => redis.script('LOAD', script),
    evalsha: (sha: string, keys: string[], args: unknown[]) =>
      redis.evalsha(sha, keys.length, ...keys, ...(args as string[])),
    decr: (key: string) => redis.decr(key),
    del: (key: string) => redis.del(key),
  }
  return new of05.RedisStore({ prefix, client: client as of05.RedisClient })
}

const userOf = (c: Context): string | undefined => c.req.header('x-user')
const usedOf = (c: Context): number | undefined => c.get('rateLimit')?.used

function version(name: string, { rateLimiter }: typeof of05): Version {
  return {
    version: name,
    async serve(counting, options) {
      const store = storeFor(counting)
      const keyGenerator = (c: Context): string => userOf(c) ?? ''
      const app = new Hono()
      app.use(rateLimiter({ windowMs: 60_000, limit: 3, keyGenerator, store, ...options }))
      app.get('/', (c) => c.text(`${usedOf(c)} used`, wanted(c.req.header()) as 200))
      app.onError((error, c) => c.text(error.message, 500))
      return {
        ...(await listeningTo(async (request) => app.fetch(request))),
        async act(what, user) {
          if (what === 'getKey') return `${(await store.get?.(user))?.totalHits} counted`
          await store.resetKey(user)
          return 'done'
        },
      }
    },
  }
}

export const honoRateLimiter: Incumbent = {
  name: 'hono-rate-limiter',
  own: 'its RedisStore',
  client: (port) => new Redis(port),
  versions: [version('0.5', of05), version('0.4', of04 as unknown as typeof of05)],
  behaviours: alike<Context, undefined>({ userOf, statusOf: (c) => c.res.status, usedOf }),
  limitedTo: (limit, windowMs) => ({ limit, windowMs }),
  passed: 200,
}
