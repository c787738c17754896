// The middleware in real servers, of both Express 5 and 4.

import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { createRequire } from 'node:module'
import { type AddressInfo, connect } from 'node:net'
import { fakeClock } from '@weir/core/testing'
import express, { type NextFunction, type Request, type Response } from 'express'
import { request, Agent as UndiciAgent } from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import * as weir from '../src/index.js'
import {
  type Decision,
  fixedWindow,
  memoryStore,
  type RateLimitOptions,
  rateLimit,
  type Store,
  tokenBucket,
} from '../src/index.js'
import { linesOf, serve, until } from './serve.js'

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

  test('allows requests, sends headers, and refuses', async () => {
    const app = express()
      .use(limited({ name: 'api', limit: 2, window: '1m' }))
      .get('/', ok)
    const { get } = await serve(app)
    const replies = [await get(), await get(), await get()]
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(replies.map(({ headers }) => headers.ratelimit)).toEqual([
      '"api";r=1;t=60',
      '"api";r=0;t=60',
      '"api";r=0;t=60',
    ])
    expect(replies.map(({ headers }) => headers['ratelimit-policy'])).toEqual(
      Array(3).fill('"api";q=2;w=60'),
    )
    expect(replies.map(({ headers }) => headers['retry-after'])).toEqual([
      undefined,
      undefined,
      '60',
    ])
    const [, , { headers, body }] = replies as [unknown, unknown, (typeof replies)[0]]
    expect(headers).toMatchObject({
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
    })
    expect(headers).not.toHaveProperty('etag')
    expect(headers['content-length']).toBe(String(body.length))
    expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['api'] })
  })

  test('HEAD is limited like GET, and gets no body', async () => {
    const { get } = await serve(express().use(limited({})).get('/', ok))
    expect((await get('/', { method: 'HEAD' })).status).toBe(200)
    expect(await get('/', { method: 'HEAD' })).toMatchObject({
      status: 429,
      body: '',
      headers: { 'retry-after': '60' },
    })
    expect((await get()).status).toBe(429)
  })

  test('several limiters: one line for each field, and the binding decision with all others', async () => {
    let seen: Request['rateLimit']
    const app = express()
      .use(limited({ name: 'all', limit: 9, window: '1h', headers: ['draft-8', 'legacy'] }))
      .use(
        limited({
          policy: tokenBucket({ name: 'burst', capacity: 3, refill: 1, every: '1s' }),
          headers: ['draft-8', 'legacy'],
        }),
      )
      .get('/', (req, res) => {
        seen = req.rateLimit
        ok(req, res)
      })
    const reply = await (await serve(app)).get()
    expect(reply.headers).toMatchObject({
      'ratelimit-policy': '"all";q=9;w=3600, "burst";q=3;w=3',
      ratelimit: '"all";r=8;t=3600, "burst";r=2;t=2',
      'x-ratelimit-limit': '3',
    })
    for (const name of ['ratelimit', 'ratelimit-policy', 'x-ratelimit-limit'])
      expect(linesOf(reply, name)).toBe(1)
    expect(seen).toMatchObject({ allowed: true, limit: 3, remaining: 2 })
    expect(seen?.all.map(({ limit }) => limit)).toEqual([9, 3])
  })

  test('an error of an option or of the store goes to the error handler', async () => {
    const onError = vi.fn((error: Error, _req: Request, res: Response, _next: NextFunction) => {
      res.status(500).send(error.message)
    })
    const throws = (message: string) => () => {
      throw new Error(message)
    }
    const broken: Store = { decide: throws('store') as never, reset: () => undefined }
    const app = express()
      .get('/key', limited({ key: throws('key') }), ok)
      .get('/later', limited({ key: async () => throws('later')() as never }), ok)
      .get('/store', limited({ store: broken }), ok)
      .get('/body', limited({ limit: 0, window: '1m', body: throws('body') as never }), ok)
      .get('/denied', limited({ limit: 0, window: '1m', onDenied: throws('denied') }), ok)
      .get(
        '/denied-later',
        limited({ limit: 0, window: '1m', onDenied: async () => throws('denied-later')() }),
        ok,
      )
      .use(onError)
    const { get } = await serve(app)
    for (const path of ['key', 'later', 'store', 'body', 'denied', 'denied-later']) {
      expect(await get(`/${path}`)).toMatchObject({ status: 500, body: path })
    }
    expect(onError).toHaveBeenCalledTimes(6)
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

  test('express-rate-limit on the same request caused a 500: both use req.rateLimit', async () => {
    const theirs = (req: Request, _res: Response, next: NextFunction) => {
      Object.assign(req, {
        rateLimit: { limit: 10, used: 1, remaining: 9, resetTime: new Date() },
      })
      next()
    }
    const app = express()
      .use(theirs, limited({ name: 'trial', shadow: true }), limited({ limit: 2, window: '1m' }))
      .get('/before', ok)
      .use(theirs)
      .get('/after', ok)
    const { get } = await serve(app)
    const { status, headers } = await get('/before')
    expect([status, headers.ratelimit]).toEqual([
      200,
      '"once";r=0;t=60, "sliding-window-2-per-1m";r=1;t=60',
    ])
    expect((await get('/after')).status).toBe(200)
    expect((await get('/before')).status).toBe(429)
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

  test('onDenied answers in place of the limiter, with the headers already set', async () => {
    const onDenied = vi.fn(
      (decision: Decision, req: Request, res: Response, next: NextFunction) => {
        if (req.query.pass) next()
        else res.status(403).json({ policy: decision.policy.name })
      },
    )
    const app = express()
      .use(limited({ limit: 0, window: '1m', onDenied }))
      .get('/', ok)
    const { get } = await serve(app)
    expect(await get()).toMatchObject({
      status: 403,
      body: '{"policy":"sliding-window-0-per-1m"}',
      headers: { 'cache-control': 'no-store' },
    })
    expect(await get('/?pass=1')).toMatchObject({ status: 200, body: 'ok' })
  })

  test('100 concurrent requests keep their async contexts', async () => {
    const storage = new AsyncLocalStorage<string>()
    const app = express()
      .use((req, _res, next) => storage.run(req.get('x-id') as string, next))
      .use(limited({ limit: 1_000, window: '1m', cost: async () => 1 }))
      .get('/', (_req, res) => void res.send(storage.getStore()))
    const { get } = await serve(app)
    const ids = Array.from({ length: 100 }, (_, i) => `id-${i}`)
    const replies = await Promise.all(ids.map((id) => get('/', { headers: { 'x-id': id } })))
    expect(replies.map(({ body }) => body)).toEqual(ids)
  })

  test('refundWhen: once per response on a kept-alive connection', async () => {
    const limit = limited({
      limit: 100,
      window: '1m',
      cost: 3,
      refundWhen: (_, { status }) => status === 404,
    })
    const { url } = await serve(express().use(limit).get('/ok', ok))
    const dispatcher = new UndiciAgent({ connections: 1, pipelining: 1 })
    onTestFinished(() => dispatcher.close())
    for (const path of ['/ok', '/gone', '/gone', '/ok', '/gone']) {
      const { body } = await request(url + path, { dispatcher })
      await body.dump()
    }
    await until(async () => (await limit.limiter.peek('127.0.0.1')).remaining === 94)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect((await limit.limiter.peek('127.0.0.1')).remaining).toBe(94)
  })

  test('refundWhen: called once, however a request ends', async () => {
    const outcomes: [string, number, boolean][] = []
    const arrived = vi.fn()
    const limit = limited({
      limit: 100,
      window: '1m',
      refundWhen: (req, { status, finished }) => {
        outcomes.push([req.path, status, finished])
        return true
      },
    })
    const app = express()
      .use(limit)
      .get('/throw', () => {
        throw new Error('handler')
      })
      .get('/hang', () => void arrived())
      .get('/stream', (_req, res) => {
        res.status(206).write('a')
        setImmediate(() => res.destroy())
      })
      .get('/slow', (_req, res) => {
        arrived()
        res.on('close', () => res.send('late'))
      })
      .get('/', ok)
      .use(
        (_error: Error, _req: Request, res: Response, _next: NextFunction) =>
          void res.status(500).end(),
      )
    const { get, port } = await serve(app)
    await get('/')
    await get('/throw')
    await get('/stream').catch(() => undefined)
    for (const path of ['/hang', '/slow']) {
      const client = httpRequest({ host: '127.0.0.1', port, path }).end()
      client.on('error', () => undefined)
      arrived.mockClear()
      await until(() => arrived.mock.calls.length > 0)
      client.destroy()
      // Which of two connections the server sees ending first is chance.
      await until(() => outcomes.some(([of]) => of === path))
    }
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(outcomes).toEqual([
      ['/', 200, true],
      ['/throw', 500, true],
      ['/stream', 206, false],
      ['/hang', 200, false],
      ['/slow', 200, false],
    ])
    expect((await limit.limiter.peek('127.0.0.1')).remaining).toBe(100)
  })

  test('a client that leaves before the decision is refunded once', async () => {
    let arrived: () => void = () => undefined
    const here = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const gone = vi.fn()
    const limit = limited({
      policy: justOne,
      key: async (req) => {
        arrived()
        await once(req.res as Response, 'close')
        return 'k'
      },
      refundWhen: (_, { finished }) => {
        gone(finished)
        return !finished
      },
    })
    const { port } = await serve(express().use(limit).get('/', ok))
    const socket = connect(port, '127.0.0.1', () =>
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    )
    await here
    socket.destroy()
    await until(() => gone.mock.calls.length > 0)
    await until(async () => (await limit.limiter.peek('k')).remaining === 1)
    expect(gone.mock.calls).toEqual([[false]])
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

test('over plain node:http2, it limits, sends headers and refuses', async () => {
  const outcomes: boolean[] = []
  const limit = rateLimit({
    limit: 1,
    window: '1m',
    refundWhen: (_req, { status, finished }) => outcomes.push(finished) > 0 && status === 404,
  })
  const server = createHttp2Server((req, res) => {
    limit(req as never, res as never, () => {
      res.statusCode = req.url === '/none' ? 404 : 200
      res.end('ok')
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    session.destroy()
    server.close()
  })
  const get = async (path: string) => {
    const stream = session.request({ ':path': path })
    const [headers] = await once(stream, 'response')
    let body = ''
    for await (const chunk of stream.setEncoding('utf8')) body += chunk
    return { status: headers[':status'], headers, body }
  }
  expect(await get('/none')).toMatchObject({ status: 404, body: 'ok' })
  await until(() => outcomes.length === 1)
  await until(async () => (await limit.limiter.peek('127.0.0.1')).remaining === 1)
  const allowed = await get('/')
  expect([allowed.status, allowed.headers.ratelimit]).toEqual([
    200,
    '"sliding-window-1-per-1m";r=0;t=60',
  ])
  const refused = await get('/')
  expect([refused.status, refused.headers['content-type']]).toEqual([
    429,
    'application/problem+json',
  ])
  expect(refused.headers['retry-after']).toBe('60')
  expect(JSON.parse(refused.body).status).toBe(429)
  expect(outcomes).toEqual([true, true])
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

test('on a single route, only its requests count', async () => {
  const app = express()
    .get('/limited/:id', rateLimit({ policy: justOne }), (req, res) => void res.send(req.params.id))
    .get('/free', ok)
  const { get } = await serve(app)
  expect(await get('/limited/7')).toMatchObject({ status: 200, body: '7' })
  expect(await get('/limited/8')).toMatchObject({ status: 429 })
  expect(await get('/free')).toMatchObject({ status: 200 })
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
