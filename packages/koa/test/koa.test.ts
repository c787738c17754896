// What is special to Koa: where the decision is, how a refusal is written, which address counts,
// and in which turn things happen.

import { once } from 'node:events'
import { connect, constants, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { fakeClock } from '@weir/core/testing'
import Koa from 'koa'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import * as weir from '../src/index.js'
import { memoryStore, type ResponseOutcome, rateLimit, type Store } from '../src/index.js'
import { serve } from './server.js'

test('over HTTP/2: each cancelled request was refunded like an answered one', async () => {
  const outcomes: ResponseOutcome[] = []
  const later = memoryStore({ clock: fakeClock() })
  const slow: Store = {
    reset: (subject) => later.reset(subject),
    decide: async (group) => {
      const answer = await later.decide(group)
      if (group.mode === 'consume') await new Promise((resolve) => setTimeout(resolve, 50))
      return answer
    },
  }
  const app: Koa = new Koa()
  app.silent = true
  const limit = rateLimit({
    store: slow,
    limit: 10,
    window: '1m',
    refundWhen: (__, outcome) => {
      outcomes.push(outcome)
      return outcome.finished && outcome.status < 400
    },
  })
  const reached = vi.fn()
  app.use(limit).use(async (ctx) => {
    reached()
    if (ctx.path === '/hang') await new Promise(() => {})
    ctx.body = 'ok'
  })
  const server = createServer(app.callback()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  const ask = (path: string) => client.request({ ':path': path }).on('error', () => {})
  const left = async () => (await limit.limiter.peek('127.0.0.1')).remaining

  const answered = ask('/')
  const [headers] = await once(answered, 'response')
  expect([headers[':status'], headers.ratelimit]).toEqual([
    200,
    '"sliding-window-10-per-1m";r=9;t=60',
  ])
  answered.resume()
  await vi.waitFor(() => expect(outcomes).toEqual([{ status: 200, finished: true }]))
  await expect.poll(left).toBe(10)

  const cancelled = ask('/hang')
  await vi.waitFor(() => expect(reached).toHaveBeenCalledTimes(2))
  cancelled.close(constants.NGHTTP2_CANCEL)
  await vi.waitFor(() => expect(outcomes[1]).toEqual({ status: 200, finished: false }))
  expect(await left()).toBe(9)

  // The client leaves before the decision.
  const early = ask('/hang')
  await expect.poll(left).toBe(8)
  early.close(constants.NGHTTP2_CANCEL)
  await vi.waitFor(() => expect(outcomes[2]).toEqual({ status: 200, finished: false }))
  expect(await left()).toBe(8)
})

let store: Store
beforeEach(() => {
  store = memoryStore({ clock: fakeClock() })
})

test('the decision is in ctx.state', async () => {
  const app = new Koa()
  app.use(rateLimit({ store, name: 'all', limit: 5, window: '1m' }))
  app.use(rateLimit({ store, name: 'some', limit: 2, window: '1m' }))
  app.use((ctx) => {
    const { allowed, remaining, policy, all } = ctx.state.rateLimit ?? {}
    ctx.body = { allowed, remaining, policy: policy?.name, all: all?.length }
  })
  const response = await fetch(await serve(app))
  expect(await response.json()).toEqual({ allowed: true, remaining: 1, policy: 'some', all: 2 })
  expect(response.headers.get('ratelimit')).toBe('"all";r=4;t=60, "some";r=1;t=60')
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

test('onDenied may let the request go on', async () => {
  const app = new Koa()
  app.use(rateLimit({ store, limit: 1, window: '1m', onDenied: (_decision, _ctx, next) => next() }))
  app.use((ctx) => {
    ctx.body = String(ctx.state.rateLimit?.allowed)
  })
  const url = await serve(app)
  expect([await (await fetch(url)).text(), await (await fetch(url)).text()]).toEqual([
    'true',
    'false',
  ])
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

describe('the address', () => {
  const warn = vi.spyOn(process, 'emitWarning')
  beforeEach(() => {
    warn.mockReset().mockImplementation(() => {})
  })
  afterEach(() => {
    warn.mockReset()
  })

  /** The statuses of requests with these X-Forwarded-For headers, if any. */
  async function answers(
    settings: object,
    options: Partial<weir.RateLimitOptions>,
    forwarded: string[],
  ): Promise<number[]> {
    const app: Koa = new Koa(settings)
    app.use(rateLimit({ store, limit: 1, window: '1m', ...options } as weir.RateLimitOptions))
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    const url = await serve(app)
    const found: number[] = []
    for (const value of forwarded)
      found.push((await fetch(url, { headers: { 'x-forwarded-for': value } })).status)
    return found
  }

  const forged = ['1.1.1.1, 9.9.9.9', '2.2.2.2, 9.9.9.9']

  test.each([{}, { proxy: true }, { proxy: true, maxIpsCount: 1 }])(
    'koa #1413, medusa-plugin-rate-limit #23, fastapi-limiter #11: each made-up X-Forwarded-For was a new bucket (%o)',
    async (settings) => {
      const fronts = [
        '1.1.1.1',
        '2.2.2.2',
        'unknown',
        '',
        '10.0.0.1',
        '::1',
        '3.3.3.3, 4.4.4.4',
        ',,',
      ]
      const asked = ['9.9.9.9', ...fronts.map((front) => `${front}, 9.9.9.9`)]
      const refused = fronts.map(() => 429)
      expect(await answers(settings, { proxies: { trusted: ['loopback'] } }, asked)).toEqual([
        200,
        ...refused,
      ])
      // From a peer that nobody trusts, the header is ignored.
      expect(await answers(settings, { proxies: { trusted: ['10.0.0.0/8'] } }, asked)).toEqual([
        200,
        ...refused,
      ])
    },
  )

  test('is by default that of the connection', async () => {
    expect(await answers({}, {}, forged)).toEqual([200, 429])
  })

  test('may be ctx.ip, by Koa’s rules', async () => {
    expect(await answers({ proxy: true }, {}, forged)).toEqual([200, 200])
    expect(await answers({ proxy: true, maxIpsCount: 1 }, {}, forged)).toEqual([200, 429])
    const proxyIpHeader = 'X-Real-IP'
    expect(await answers({ proxy: true, proxyIpHeader }, {}, forged)).toEqual([200, 429])
  })

  test('is found by trusted proxies, whatever Koa trusts', async () => {
    const proxies = { trusted: ['loopback'] }
    expect(await answers({ proxy: true }, { proxies }, [...forged, '8.8.8.8'])).toEqual([
      200, 429, 200,
    ])
  })
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
