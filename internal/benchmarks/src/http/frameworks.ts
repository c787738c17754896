// Applications of frameworks behind a limiter. Requests have no socket; responses are Node's.

import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import fastifyRateLimit from '@fastify/rate-limit'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { memoryStore, recommendedRedisOptions, redisStore, type Store } from '@weir/core'
import { rateLimitPlugin } from '@weir/fastify'
import { clientAddress, honoMiddleware, rateLimit } from '@weir/fetch'
import Fastify, { type FastifyInstance } from 'fastify'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { RedisStore, rateLimiter } from 'hono-rate-limiter'
import { connected } from '../redis/client.js'
import type { Kind } from '../table.js'
import { CLIENTS } from './job.js'

/** Sends a request from an address, and resolves to the status of its response. */
export type Send = (address: string) => Promise<number>

export interface Application {
  readonly framework: 'Fastify' | 'Hono'
  readonly name: string
  readonly kind: Kind
  /** @param port that of Redis; undefined to count in memory */
  open(limit: number, port: number | undefined): Promise<Send>
}

type Env = { Bindings: HttpBindings }

export const BARE = 'no limiter'
/** Less cannot be done in memory, with the two header fields of the standard. */
export const LEAST = 'a Map and two fields'
const WINDOW_MS = 3_600_000

async function storeAt(port: number | undefined): Promise<Store> {
  return port === undefined
    ? memoryStore()
    : redisStore(await connected(port, recommendedRedisOptions))
}

export const applications: readonly Application[] = [
  { framework: 'Fastify', name: BARE, kind: 'floor', open: () => fastifyWith(async () => {}) },
  {
    framework: 'Fastify',
    name: LEAST,
    kind: 'floor',
    open: (limit) => fastifyWith(async (app) => countInMap(app, limit)),
  },
  {
    framework: 'Fastify',
    name: 'Weir for Fastify',
    kind: 'weir',
    open: (limit, port) =>
      fastifyWith(async (app) => {
        const options = { name: `api-${limit}`, limit, window: WINDOW_MS }
        await app.register(rateLimitPlugin, { ...options, store: await storeAt(port) })
      }),
  },
  {
    framework: 'Fastify',
    name: '@fastify/rate-limit',
    kind: 'peer',
    open: (max, port) =>
      fastifyWith(async (app) => {
        const options = { max, timeWindow: WINDOW_MS, enableDraftSpec: true, cache: 2 * CLIENTS }
        if (port === undefined) return void (await app.register(fastifyRateLimit, options))
        // As its README recommends.
        const redis = await connected(port, { connectTimeout: 500, maxRetriesPerRequest: 1 })
        await app.register(fastifyRateLimit, { ...options, redis, nameSpace: `peer-${max}-` })
      }),
  },
  {
    framework: 'Hono',
    name: BARE,
    kind: 'floor',
    open: async () => honoWith((_c, next) => next()),
  },
  {
    framework: 'Hono',
    name: 'Weir for Hono',
    kind: 'weir',
    async open(limit, port) {
      const options = { name: `api-${limit}`, limit, window: WINDOW_MS }
      const limiter = rateLimit({ ...options, store: await storeAt(port) })
      return honoWith(honoMiddleware(limiter, (c) => clientAddress.node(c.env)))
    },
  },
  {
    framework: 'Hono',
    name: 'hono-rate-limiter',
    kind: 'peer',
    async open(limit, port) {
      const keyGenerator = (c: Context<Env>) => c.env.incoming.socket.remoteAddress as string
      const options = { limit, windowMs: WINDOW_MS, keyGenerator }
      if (port === undefined) return honoWith(rateLimiter(options))
      const redis = await connected(port)
      const client = {
        scriptLoad: (script: string) => redis.script('LOAD', script) as Promise<string>,
        evalsha: <Result>(sha: string, keys: string[], args: unknown[]) =>
          redis.evalsha(sha, keys.length, ...keys, ...(args as string[])) as Promise<Result>,
        decr: (key: string) => redis.decr(key),
        del: (key: string) => redis.del(key),
      }
      return honoWith(rateLimiter({ ...options, store: new RedisStore({ client }) }))
    },
  },
]

function countInMap(app: FastifyInstance, limit: number): void {
  const counts = new Map<string, { count: number; readonly endMs: number }>()
  app.addHook('onRequest', ({ ip }, reply, done) => {
    const nowMs = Date.now()
    let window = counts.get(ip)
    if (window === undefined || window.endMs <= nowMs) {
      window = { count: 0, endMs: nowMs + WINDOW_MS }
      counts.set(ip, window)
    }
    window.count += 1
    const resetSeconds = Math.ceil((window.endMs - nowMs) / 1_000)
    reply.header('RateLimit-Policy', `"api";q=${limit};w=3600`)
    reply.header('RateLimit', `"api";r=${Math.max(0, limit - window.count)};t=${resetSeconds}`)
    if (window.count <= limit) done()
    else reply.code(429).send('refused')
  })
}

async function fastifyWith(limited: (app: FastifyInstance) => Promise<void>): Promise<Send> {
  const app = Fastify()
  await limited(app)
  const waiting = new WeakMap<ServerResponse, (status: number) => void>()
  app.addHook('onSend', (_request, { raw, statusCode }, _payload, done) => {
    setImmediate(() => waiting.get(raw)?.(statusCode))
    done()
  })
  app.get('/', (_request, reply) => void reply.send('ok'))
  await app.ready()
  return (address) => {
    const { request, response } = exchangeFrom(address)
    const answered = new Promise<number>((resolve) => waiting.set(response, resolve))
    app.routing(request, response)
    return answered
  }
}

function honoWith(middleware: MiddlewareHandler<Env>): Send {
  const app = new Hono<Env>().use(middleware).get('/', (c) => c.text('ok'))
  const listener = getRequestListener(app.fetch)
  return async (address) => {
    const { request, response } = exchangeFrom(address)
    await listener(request, response)
    return response.statusCode
  }
}

function exchangeFrom(remoteAddress: string) {
  const request = new IncomingMessage({ remoteAddress } as Socket)
  const headers = { host: 'localhost' }
  Object.assign(request, { method: 'GET', url: '/', headers, rawHeaders: ['host', 'localhost'] })
  Object.assign(request, { httpVersionMajor: 1, httpVersionMinor: 1 })
  return { request, response: new ServerResponse(request) }
}
