// The middleware in real servers, of both Express 5 and 4.

import { Agent } from 'node:http'
import { createRequire } from 'node:module'
import { fakeClock } from '@weir/core/testing'
import express, { type NextFunction, type Request, type Response } from 'express'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import * as weir from '../src/index.js'
import {
  fixedWindow,
  memoryStore,
  type RateLimitOptions,
  rateLimit,
  type Store,
} from '../src/index.js'
import { serve, until } from './serve.js'

const justOne = fixedWindow({ name: 'once', limit: 1, window: '1m' })
const ok = (_: Request, res: Response) => void res.send('ok')

/** A memory store that answers in a later turn, as Redis does. */
function slowStore(): Store {
  const store = memoryStore({ clock: fakeClock() })
  return {
    decide: async (group) => {
      await new Promise((resolve) => setImmediate(resolve))
      return store.decide(group)
    },
    reset: (subject) => store.reset(subject),
  }
}

const STORES: [string, () => Store][] = [
  ['memory', () => memoryStore({ clock: fakeClock() })],
  ['a store that answers later', slowStore],
]

test('all exports of @weir/core are here as well', async () => {
  expect(Object.keys(weir)).toEqual(expect.arrayContaining(Object.keys(await import('@weir/core'))))
  expect(weir).toHaveProperty('RATE_LIMIT_HEADERS')
  expect(weir).toHaveProperty('addressKey')
})

describe.each(STORES)('with %s', (_, storeOf) => {
  function limited(options: Partial<RateLimitOptions>) {
    const all = {
      store: storeOf(),
      shared: true,
      ...('policy' in options || 'limit' in options ? {} : { policy: justOne }),
      ...options,
    }
    return rateLimit(all as RateLimitOptions)
  }

  test('functions in options get the response', async () => {
    const seen: string[] = []
    const note = (name: string, res: Response) => seen.push(`${name} of ${res.locals.tenant}`)
    const { url } = await serve(
      express()
        .use((_req, res, next) => {
          res.locals.tenant = 't1'
          next()
        })
        .use(
          limited({
            limit: (_req, res) => note('limit', res) && 1,
            window: (_req, res) => (note('window', res) ? '1m' : '1h'),
            key: (_req, res) => (note('key', res) ? null : 'k'),
            onMissingKey: (_req, res) => (note('onMissingKey', res) ? res.locals.tenant : 'k'),
            cost: (_req, res) => (note('cost', res) ? 1 : 2),
            skip: (_req, res) => note('skip', res) === 0,
            refundWhen: (_req, _outcome, res) => note('refundWhen', res) === 0,
            body: (decision, _req, res) => `${decision.key} ${note('body', res) > 0}`,
          }),
        )
        .use(ok),
    )
    expect((await fetch(url)).status).toBe(200)
    expect(await (await fetch(url)).text()).toBe('t1 true')
    const names = ['limit', 'window', 'key', 'onMissingKey', 'cost', 'skip', 'refundWhen', 'body']
    await until(() => new Set(seen).size === names.length)
    expect([...new Set(seen)].sort()).toEqual(names.map((name) => `${name} of t1`).sort())
  })

  test.each([undefined, null, false, 0, '', 'route', 'router'])(
    '%o thrown by an option let the request through to the next handler or route',
    async (thrown) => {
      const throws = () => {
        throw thrown
      }
      const reached = vi.fn(ok)
      const app = express().set('env', 'test')
      app.get('/key', limited({ key: throws }), reached)
      app.get('/later', limited({ key: async () => throws() }), reached)
      app.get('/denied', limited({ limit: 0, window: '1m', onDenied: throws }), reached)
      app.get(
        '/denied-later',
        limited({ limit: 0, window: '1m', onDenied: async () => throws() }),
        reached,
      )
      app.use(reached)
      const { get } = await serve(app)
      for (const path of ['key', 'later', 'denied', 'denied-later'])
        expect(await get(`/${path}`)).toMatchObject({
          status: 500,
          body: expect.stringContaining('a function of the options threw'),
        })
      expect(reached).not.toHaveBeenCalled()
    },
  )

  test('a global Promise that zone.js or bluebird replaced made an answer look like a promise, or the reverse', async () => {
    vi.stubGlobal('Promise', class extends Promise<unknown> {})
    onTestFinished(() => void vi.unstubAllGlobals())
    const app = express()
      .use(limited({ skip: async () => false, cost: async () => 1 }))
      .get('/', ok)
    const { get } = await serve(app)
    expect([(await get()).status, (await get()).status]).toEqual([200, 429])
  })

  test('handlers handle what they throw: next is called once, and the limit headers stay', async () => {
    const onError = vi.fn(
      (_error: Error, _req: Request, res: Response, _next: NextFunction) =>
        void res.status(500).send('caught'),
    )
    const app = express()
      .use(limited({ limit: 5, window: '1m' }))
      .get('/', () => {
        throw new Error('handler')
      })
      .use(onError)
    expect(await (await serve(app)).get()).toMatchObject({
      status: 500,
      headers: { ratelimit: '"sliding-window-5-per-1m";r=4;t=60' },
    })
    expect(onError).toHaveBeenCalledTimes(1)
  })
})

test('the ESM and the CommonJS copy of this package on one request: the second caused a 500', async () => {
  const copy: typeof weir = createRequire(import.meta.url)('@weir/express')
  const app = express()
    .use(
      rateLimit({ limit: 5, window: '1m' }),
      copy.rateLimit({ name: 'b', limit: 3, window: '1m' }),
    )
    .get('/', ok)
  const reply = await (await serve(app)).get()
  expect([reply.status, reply.headers.ratelimit]).toEqual([
    200,
    '"sliding-window-5-per-1m";r=4;t=60, "b";r=2;t=60',
  ])
})

test('without an Express app around it, as in node:http or Connect, there was no `app` to read settings from', async () => {
  const limit = rateLimit({ policy: justOne })
  const failed = vi.fn()
  const { get } = await serve(((req: Request, res: Response) => {
    limit(req, res, (error?: unknown) => {
      if (error !== undefined) failed(error)
      res.end('ok')
    })
  }) as never)
  expect(await get()).toMatchObject({ status: 200, body: 'ok' })
  expect((await get()).status).toBe(429)
  expect((await get('/', { from: '127.0.0.2' })).status).toBe(200)
  expect(failed).not.toHaveBeenCalled()
})

test('a request that was made by hand has no socket', () => {
  const limit = rateLimit({ policy: justOne })
  const next = vi.fn()
  const request = { method: 'GET', headers: { 'x-forwarded-for': '9.9.9.9' }, ip: '9.9.9.9' }
  limit(request as never, { setHeader: vi.fn() } as never, next)
  expect(next.mock.calls).toEqual([[]])
})

test('in a router, its parameters are available, and each mounting counts by its keys', async () => {
  const router = express.Router({ mergeParams: true })
  router.use(rateLimit({ policy: justOne, key: (req) => String(req.params.tenant) }))
  router.get('/search', ok)
  const { get } = await serve(express().use('/:tenant', router).get('/free', ok))
  // A router’s middleware also runs for paths without a route.
  const asked = ['/a/search', '/a/search', '/b/search', '/b/none', '/c/none', '/free']
  const found: number[] = []
  for (const path of asked) found.push((await get(path)).status)
  expect(found).toEqual([200, 429, 200, 429, 404, 200])
})

test('in a sub-app, which uses the proxy setting and the error handler of the app around it', async () => {
  const inner = express()
    .use(
      rateLimit({
        policy: fixedWindow({ name: 'inner', limit: 1, window: '1m' }),
        skip: (req) => {
          if (req.query.fail) throw new Error('no luck')
          return false
        },
      }),
    )
    .get('/', (req, res) => void res.json(req.rateLimit?.all.map(({ limiter }) => limiter)))
  const app = express()
    .set('trust proxy', 'loopback')
    .use(rateLimit({ name: 'outer', limit: 9, window: '1m' }))
    .use('/api', inner)
    .use((error: Error, _req: Request, res: Response, _next: NextFunction) => {
      res.status(500).send(error.message)
    })
  const { get } = await serve(app)
  const from = (ip: string) => ({ headers: { 'x-forwarded-for': ip } })
  const first = await get('/api', from('9.9.9.9'))
  expect([first.status, first.body]).toEqual([200, '["outer","default"]'])
  expect(first.headers.ratelimit).toBe('"outer";r=8;t=60, "inner";r=0;t=60')
  expect((await get('/api', from('9.9.9.9'))).status).toBe(429)
  expect((await get('/api', from('8.8.8.8'))).status).toBe(200)
  const failed = await get('/api?fail=1', from('7.7.7.7'))
  expect([failed.status, failed.body]).toEqual([500, 'no luck'])
  expect(failed.headers.ratelimit).toBe('"outer";r=8;t=60')
})

test('a body that express.json() cannot read counts if the limiter comes first, and may be refunded', async () => {
  const limit = rateLimit({
    policy: fixedWindow({ name: 'p', limit: 2, window: '1m' }),
    key: () => 'k',
    refundWhen: (_req, { status }) => status === 400,
  })
  const after = vi.fn()
  const app = express()
    .set('env', 'test')
    .use(limit, express.json(), (_req, _res, next) => {
      after()
      next()
    })
    .post('/', ok)
  const { url } = await serve(app)
  const post = (body: string) =>
    fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  const broken = await post('{"a":')
  expect([broken.status, broken.headers.get('ratelimit')]).toEqual([400, '"p";r=1;t=60'])
  expect(after).not.toHaveBeenCalled()
  await until(async () => (await limit.limiter.peek('k')).remaining === 2)
  const statuses = [await post('{}'), await post('{}'), await post('{"a":')]
  expect(statuses.map(({ status }) => status)).toEqual([200, 200, 429])
})

test('next is called in the same turn if there is nothing to wait for', () => {
  const limit = rateLimit({
    limit: 1,
    window: '1m',
    key: () => 'k',
    cost: () => 1,
    skip: () => false,
    store: memoryStore({ clock: fakeClock() }),
  })
  const next = vi.fn()
  const res = { setHeader: vi.fn(), end: vi.fn(), headersSent: false }
  limit({ method: 'GET', headers: {} } as never, res as never, next)
  expect(next).toHaveBeenCalledExactlyOnceWith()
  limit({ method: 'GET', headers: {} } as never, res as never, next)
  expect(next).toHaveBeenCalledTimes(1)
  expect(res).toMatchObject({ statusCode: 429 })
  expect(res.end).toHaveBeenCalledOnce()
})

test('an error that next throws is not caught', () => {
  const limit = rateLimit({ limit: 1, window: '1m', key: () => 'k' })
  const next = vi.fn((error?: unknown) => {
    if (error === undefined) throw new Error('downstream')
  })
  const res = { setHeader: vi.fn(), headersSent: false }
  expect(() => limit({ method: 'GET', headers: {} } as never, res as never, next)).toThrow(
    'downstream',
  )
  expect(next).toHaveBeenCalledTimes(1)
})

test('a response that has begun is not written to, and ends if its request is refused', async () => {
  const app = express()
    .use((_req, res, next) => {
      res.write('begun ')
      next()
    })
    .use(rateLimit({ limit: 1, window: '1m' }))
    .get('/', (_req, res) => void res.end('ended'))
  const { get } = await serve(app)
  expect(await get()).toMatchObject({ status: 200, body: 'begun ended' })
  await expect(get()).rejects.toThrow(/aborted|socket hang up|ECONNRESET/)
})

test('cookies, CORS and caching headers that were set before stay, except Cache-Control of a refusal', async () => {
  const app = express()
    .use((_req, res, next) => {
      res.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'public, max-age=60' })
      next()
    })
    .use(rateLimit({ policy: justOne }))
    .get('/', ok)
  const { get } = await serve(app)
  expect((await get()).headers).toMatchObject({ 'cache-control': 'public, max-age=60' })
  expect((await get()).headers).toMatchObject({
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
  })
})

test('keep-alive continues after refusals', async () => {
  const { get, server } = await serve(
    express()
      .use(rateLimit({ policy: justOne }))
      .get('/', ok),
  )
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const connections = vi.fn()
  server.on('connection', connections)
  const statuses = []
  for (let i = 0; i < 4; i += 1) statuses.push((await get('/', { agent })).status)
  expect(statuses).toEqual([200, 429, 429, 429])
  expect(connections).toHaveBeenCalledTimes(1)
})
