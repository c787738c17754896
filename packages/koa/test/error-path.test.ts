// Koa drops all headers when something throws. The limits' headers must still arrive, with the
// figures of the right client.

import { fakeClock } from '@weir/core/testing'
import Koa from 'koa'
import { beforeEach, expect, test, vi } from 'vitest'
import { memoryStore, rateLimit, type Store } from '../src/index.js'
import { serve } from './server.js'

interface HttpError extends Error {
  status?: number
  headers?: Record<string, string>
}

let store: Store
beforeEach(() => {
  store = memoryStore({ clock: fakeClock() })
})

/** An app with a limit of ten and this handler. */
function limited(handler: Koa.Middleware): Koa {
  const app: Koa = new Koa()
  app.use(rateLimit({ store, name: 'api', limit: 10, window: '1m' }))
  app.use(handler)
  return app
}

test.each([
  ['Error', () => Promise.reject(new Error('broken')), 500],
  ['ctx.throw', (ctx: Koa.Context) => ctx.throw(403), 403],
  [
    'what follows later',
    async (ctx: Koa.Context) => {
      await null
      ctx.throw(404)
    },
    404,
  ],
] as const)('headers survive %s', async (__, handler, status) => {
  const response = await fetch(await serve(limited(handler as Koa.Middleware)))
  expect(response.status).toBe(status)
  expect(response.headers.get('ratelimit')).toBe('"api";r=9;t=60')
  expect(response.headers.get('ratelimit-policy')).toBe('"api";q=10;w=60')
})

test('the error’s own headers take precedence', async () => {
  const headers = { 'WWW-Authenticate': 'Basic', RateLimit: '"own";r=1' }
  const response = await fetch(await serve(limited((ctx) => ctx.throw(401, { headers }))))
  expect(response.headers.get('www-authenticate')).toBe('Basic')
  expect(response.headers.get('ratelimit')).toBe('"own";r=1')
  expect(response.headers.get('ratelimit-policy')).toBe('"api";q=10;w=60')
  expect(headers).toEqual({ 'WWW-Authenticate': 'Basic', RateLimit: '"own";r=1' })
})

test('headers of several limiters arrive, and those of middleware between them', async () => {
  const app: Koa = new Koa()
  app.use(rateLimit({ store, name: 'outer', limit: 10, window: '1m' }))
  app.use(async (__, next) => {
    try {
      await next()
    } catch (error) {
      const thrown = error as HttpError
      thrown.headers = { ...thrown.headers, 'Access-Control-Allow-Origin': '*' }
      throw error
    }
  })
  app.use(rateLimit({ store, name: 'inner', limit: 5, window: '1m' }))
  app.use((ctx) => ctx.throw(500))
  const { headers } = await fetch(await serve(app))
  expect(headers.get('ratelimit')).toBe('"outer";r=9;t=60, "inner";r=4;t=60')
  expect(headers.get('access-control-allow-origin')).toBe('*')
})

test('a denial thrown by onDenied keeps its wait', async () => {
  const app: Koa = new Koa()
  app.use(
    rateLimit({
      store,
      name: 'api',
      limit: 1,
      window: '1m',
      onDenied: (__, ctx) => ctx.throw(429, 'slow down'),
    }),
  )
  app.use((ctx) => {
    ctx.body = 'ok'
  })
  const url = await serve(app)
  await fetch(url)
  const response = await fetch(url)
  expect([response.status, await response.text()]).toEqual([429, 'slow down'])
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('ratelimit')).toMatch(/^"api";r=0;/)
})

test('an error object that many requests share carries no client’s figures to another', async () => {
  const shared: HttpError = Object.assign(new Error('no'), { status: 403, expose: true })
  const app: Koa = new Koa()
  const limit = rateLimit({ store, limit: 10, window: '1m' })
  app.use((ctx, next) => (ctx.path === '/free' ? next() : limit(ctx, next)))
  app.use(() => Promise.reject(shared))
  const url = await serve(app)
  const told: (string | null)[] = []
  for (const path of ['/a', '/b', '/free', '/c'])
    told.push((await fetch(url + path)).headers.get('ratelimit'))
  expect(told.map((value) => value?.split(';')[1])).toEqual(['r=9', 'r=8', undefined, 'r=7'])
  expect(shared.headers).toBeUndefined()
})

test('requests that failed at the same time with one error got the figures of each other', async () => {
  const shared = Object.assign(new Error('database down'), { status: 503, expose: true })
  const arrived = vi.fn()
  let fail: (error: Error) => void = () => {}
  const gate = new Promise<void>((_, reject) => {
    fail = reject
  })
  const seen: unknown[] = []
  const app: Koa = new Koa()
  const limit = rateLimit({ store, limit: 10, window: '1m', key: (ctx) => ctx.get('x-user') })
  app.use(async (_, next) => {
    await next().catch((error) => {
      seen.push(error)
      throw error
    })
  })
  app.use((ctx, next) => (ctx.path === '/free' ? next() : limit(ctx, next)))
  app.use((ctx) => {
    if (ctx.path === '/ok') {
      ctx.body = 'ok'
      return
    }
    arrived()
    return gate
  })
  const url = await serve(app)
  const as = (user: string) => ({ headers: { 'x-user': user } })
  for (let i = 0; i < 6; i += 1) await fetch(`${url}/ok`, as('b'))
  const pending = ['/', '/', '/free'].map((path, i) =>
    fetch(url + path, as(['a', 'b', 'c'][i] as string)),
  )
  await vi.waitFor(() => expect(arrived).toHaveBeenCalledTimes(3))
  fail(shared)
  const replies = await Promise.all(pending)
  expect(replies.map(({ status }) => status)).toEqual([503, 503, 503])
  const left = replies.map(({ headers }) => headers.get('ratelimit')?.split(';')[1])
  expect(left).toEqual(['r=9', 'r=3', undefined])
  expect(await replies[0]?.text()).toBe('database down')
  // The app's own handlers see the same error.
  expect(seen).toEqual([shared, shared, shared])
  expect(shared).not.toHaveProperty('headers')
})

test.each([undefined, null, 0, ''])(
  '%o thrown by an option left a request without an answer',
  async (thrown) => {
    const app: Koa = new Koa()
    const key = () => Promise.reject(thrown)
    app.use(rateLimit({ store, limit: 1, window: '1m', key }))
    const url = await serve(app)
    expect((await fetch(url, { signal: AbortSignal.timeout(2_000) })).status).toBe(500)
    const denying: Koa = new Koa()
    denying.use(rateLimit({ store, limit: 0, window: '1m', onDenied: key }))
    expect((await fetch(await serve(denying), { signal: AbortSignal.timeout(2_000) })).status).toBe(
      500,
    )
  },
)

test('a thrown string is answered as without a limit', async () => {
  const response = await fetch(await serve(limited(() => Promise.reject('oops'))))
  expect(response.status).toBe(500)
})

test('a frozen error reaches the app’s own handler as it is', async () => {
  const frozen = Object.freeze(new Error('cold'))
  const app: Koa = new Koa()
  app.use(async (ctx, next) => {
    await next().catch((error) => {
      ctx.body = String(error === frozen)
    })
  })
  app.use(rateLimit({ store, limit: 10, window: '1m' }))
  app.use(() => Promise.reject(frozen))
  expect(await (await fetch(await serve(app))).text()).toBe('true')
})

test('the response of an error handler of the app keeps them', async () => {
  const app: Koa = new Koa()
  app.use(async (ctx, next) => {
    try {
      await next()
    } catch {
      ctx.status = 502
      ctx.body = 'handled'
    }
  })
  app.use(rateLimit({ store, name: 'api', limit: 10, window: '1m' }))
  app.use(() => Promise.reject(new Error('broken')))
  const response = await fetch(await serve(app))
  expect([response.status, response.headers.get('ratelimit')]).toEqual([502, '"api";r=9;t=60'])
})
