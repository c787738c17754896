// Applications of Hono behind a limiter, as @hono/node-server calls them, with requests without a
// socket and real ServerResponses.

import { type IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { memoryStore, recommendedRedisOptions, redisStore } from '@weir/core'
import { clientAddress, honoMiddleware, rateLimit } from '@weir/fetch'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { RedisStore, rateLimiter } from 'hono-rate-limiter'
import { connected } from '../redis/client.js'
import type { Kind } from '../table.js'

type Env = { Bindings: HttpBindings }

export interface HonoSubject {
  readonly name: string
  readonly kind: Kind
  /** Makes the middleware; `port` is that of Redis, undefined to count in memory. */
  open(limit: number, port: number | undefined): Promise<MiddlewareHandler<Env>>
}

const WINDOW_MS = 3_600_000

export const BARE = 'no limiter'
export const WEIR = 'Weir for Hono'
export const INCUMBENT = 'hono-rate-limiter'

const addressOf = (c: Context<Env>): string => c.env.incoming.socket.remoteAddress as string

export const honoSubjects: readonly HonoSubject[] = [
  { name: BARE, kind: 'floor', open: async () => (_c, next) => next() },
  {
    name: WEIR,
    kind: 'weir',
    async open(limit, port) {
      const store =
        port === undefined
          ? memoryStore()
          : redisStore(await connected(port, recommendedRedisOptions))
      const limiter = rateLimit({ store, limit, window: WINDOW_MS, shared: true })
      return honoMiddleware(limiter, (c) => clientAddress.node(c.env))
    },
  },
  {
    name: INCUMBENT,
    kind: 'peer',
    async open(limit, port) {
      const options = { limit, windowMs: WINDOW_MS, keyGenerator: addressOf }
      if (port === undefined) return rateLimiter(options)
      const redis = await connected(port)
      const client = {
        scriptLoad: (script: string) => redis.script('LOAD', script) as Promise<string>,
        evalsha: <Result>(sha: string, keys: string[], args: unknown[]) =>
          redis.evalsha(sha, keys.length, ...keys, ...(args as string[])) as Promise<Result>,
        decr: (key: string) => redis.decr(key),
        del: (key: string) => redis.del(key),
      }
      return rateLimiter({ ...options, store: new RedisStore({ client }) })
    },
  },
]

/** Sends a request from an address, and resolves to the status of its response. */
export function honoApp(middleware: MiddlewareHandler<Env>): (address: string) => Promise<number> {
  const app = new Hono<Env>().use(middleware).get('/', (c) => c.text('hello'))
  const listener = getRequestListener(app.fetch)
  return async (address) => {
    const headers = { host: 'localhost' }
    const incoming = {
      ...{ method: 'GET', url: '/', headers, rawHeaders: ['host', 'localhost'] },
      ...{ httpVersionMajor: 1, httpVersionMinor: 1, socket: { remoteAddress: address } },
    } as unknown as IncomingMessage
    const outgoing = new ServerResponse(incoming)
    await listener(incoming, outgoing)
    return outgoing.statusCode
  }
}
