// What is special to Koa: how a refusal is written, which address counts, and in which turn things
// happen.

import { fakeClock } from '@weir/core/testing'
import Koa from 'koa'
import { beforeEach, expect, test, vi } from 'vitest'
import * as weir from '../src/index.js'
import { memoryStore, rateLimit, type Store } from '../src/index.js'
import { serve } from './server.js'

let store: Store
beforeEach(() => {
  store = memoryStore({ clock: fakeClock() })
})

test('a refusal is written, not thrown', async () => {
  const app = new Koa()
  const errors = vi.fn()
  app.on('error', errors)
  const after: number[] = []
  app.use(async (ctx, next) => {
    await next()
    after.push(ctx.status)
  })
  app.use(rateLimit({ store, name: 'api', limit: 1, window: '1m' }))
  app.use((ctx) => {
    ctx.body = 'ok'
  })
  const url = await serve(app)
  expect((await fetch(url)).status).toBe(200)
  const refused = await fetch(url)
  expect(refused.status).toBe(429)
  expect(refused.headers.get('content-type')).toBe('application/problem+json')
  expect(refused.headers.get('cache-control')).toBe('no-store')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await refused.json()).toMatchObject({ status: 429, 'violated-policies': ['api'] })
  expect(after).toEqual([200, 429])
  expect(errors).not.toHaveBeenCalled()
})

test('continues in the same turn if there is nothing to wait for', async () => {
  const app = new Koa()
  const order: string[] = []
  app.use((_ctx, next) => {
    const going = next()
    order.push('turn over')
    return going
  })
  app.use(rateLimit({ store, limit: 1, window: '1m' }))
  app.use((ctx) => {
    order.push('handler')
    ctx.body = 'ok'
  })
  await fetch(await serve(app))
  expect(order).toEqual(['handler', 'turn over'])
})

test('waits for the next middleware', async () => {
  const app = new Koa()
  app.use(rateLimit({ store, limit: 1, window: '1m', key: async () => 'k' }))
  app.use(async (ctx) => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    ctx.body = 'late'
  })
  expect(await (await fetch(await serve(app))).text()).toBe('late')
})

test('does not change a response that was already sent', async () => {
  const app = new Koa()
  app.use(async (ctx, next) => {
    ctx.respond = false
    ctx.res.end('sent')
    await next()
  })
  app.use(rateLimit({ store, limit: 0, window: '1m' }))
  const response = await fetch(await serve(app))
  expect([response.status, await response.text()]).toEqual([404, 'sent'])
})

test('a response that has begun is not written to, and ends if its request is refused', async () => {
  const app = new Koa()
  app.use((ctx, next) => {
    ctx.status = 200
    ctx.res.write('begun ')
    return next()
  })
  app.use(rateLimit({ store, limit: 1, window: '1m' }))
  app.use((ctx) => {
    ctx.body = 'ended'
  })
  const url = await serve(app)
  const first = await fetch(url)
  expect([first.status, await first.text()]).toEqual([200, 'begun ended'])
  const second = fetch(url).then((response) => response.text())
  await expect(second).rejects.toThrow(/terminated|fetch failed/)
})

test('the address may be ctx.ip, by Koa’s rules', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  /** The statuses of two requests, with made-up entries in X-Forwarded-For. */
  async function answers(settings: object): Promise<number[]> {
    const app: Koa = new Koa(settings)
    app.use(rateLimit({ store: memoryStore(), shared: true, limit: 1, window: '1m' }))
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    const url = await serve(app)
    const from = async (forwarded: string) =>
      (await fetch(url, { headers: { 'x-forwarded-for': forwarded } })).status
    return [await from('1.1.1.1, 9.9.9.9'), await from('2.2.2.2, 9.9.9.9')]
  }
  expect(await answers({ proxy: true })).toEqual([200, 200])
  expect(await answers({ proxy: true, maxIpsCount: 1 })).toEqual([200, 429])
  expect(await answers({ proxy: true, proxyIpHeader: 'X-Real-IP' })).toEqual([200, 429])
  warn.mockRestore()
})

test('each warning about proxies is given once, and none if proxies are counted', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  vi.resetModules()
  const fresh: typeof weir = await import('../src/index.js')

  /** The codes of the warnings that these settings cause. */
  async function codes(settings: object): Promise<unknown[]> {
    warn.mockClear()
    const app = new Koa(settings)
    app.use(fresh.rateLimit({ limit: 9, window: '1m' }))
    await fetch(await serve(app), { headers: { 'x-forwarded-for': '1.1.1.1' } })
    return warn.mock.calls.map(([, options]) => (options as { code?: string }).code)
  }

  expect(await codes({ proxy: true, maxIpsCount: 1 })).toEqual([])
  expect(await codes({ proxy: true, proxyIpHeader: 'X-Real-IP' })).toEqual([])
  expect(await codes({ proxy: true })).toEqual(['WEIR_TRUST_ALL'])
  expect(await codes({})).toEqual(['WEIR_FORWARDED_IGNORED'])
  warn.mockRestore()
})

test('all exports of @weir/core are here', async () => {
  const core = await import('@weir/core')
  for (const name of Object.keys(core)) expect(weir).toHaveProperty(name)
  expect(weir).toHaveProperty('addressKey')
})
