// @fastify/rate-limit's own behaviours, over Weir's store on Redis: of the three last majors.

import * as of11 from '@fastify/rate-limit'
import * as of9 from '@fastify/rate-limit-9'
import * as of10 from '@fastify/rate-limit-10'
import { fastify as fastify5 } from 'fastify'
import { fastify as fastify4 } from 'fastify-4'
import { afterEach, describe, expect, test } from 'vitest'
import { weirStore } from '../src/fastify-rate-limit.js'
import { newName, onRedis } from './on-redis.js'

const redis = onRedis()

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

type Made = ReturnType<typeof fastify5>

async function statusesOf(url: string, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i += 1) statuses.push((await fetch(url)).status)
  return statuses
}

describe.each([
  ['11', of11, fastify5],
  ['10', of10 as unknown as typeof of11, fastify5],
  ['9', of9 as unknown as typeof of11, fastify4 as unknown as typeof fastify5],
])('@fastify/rate-limit %s', (version, plugin, fastify) => {
  /** @param routes for those with limits of their own */
  async function served(options: object, routes: (app: Made) => void = () => {}): Promise<string> {
    const app = fastify()
    open.push(() => app.close())
    const store = weirStore(redis.store, { name: newName() })
    await app.register(plugin.default, { max: 3, timeWindow: 60_000, store, ...options })
    app.get('/', async () => 'ok')
    routes(app)
    return app.listen({ port: 0, host: '127.0.0.1' })
  }

  test('lets the limit pass, refuses what comes after it, and says so in headers', async () => {
    const url = await served({})
    const { headers } = await fetch(url)
    expect(headers.get('x-ratelimit-limit')).toBe('3')
    expect(headers.get('x-ratelimit-remaining')).toBe('2')
    expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(57)
    expect(await statusesOf(url, 3)).toEqual([200, 200, 429])
    const refused = await fetch(url)
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(55)
  })

  test('begins anew when the window is over', async () => {
    const url = await served({ timeWindow: 300 })
    expect(await statusesOf(url, 4)).toEqual([200, 200, 200, 429])
    await new Promise((resolve) => setTimeout(resolve, 320))
    expect(await statusesOf(url, 1)).toEqual([200])
  })

  test('a route has a limit of its own', async () => {
    const url = await served({}, (app) => {
      app.get('/own', { config: { rateLimit: { max: 1, timeWindow: 60_000 } } }, async () => 'ok')
      app.get('/free', { config: { rateLimit: false } }, async () => 'ok')
    })
    expect(await statusesOf(`${url}/own`, 2)).toEqual([200, 429])
    expect(await statusesOf(url, 4)).toEqual([200, 200, 200, 429])
    expect(await statusesOf(`${url}/free`, 5)).toEqual([200, 200, 200, 200, 200])
  })

  test('ban answers 403 after so many refusals', async () => {
    const url = await served({ ban: 2 })
    expect(await statusesOf(url, 7)).toEqual([200, 200, 200, 429, 429, 403, 403])
  })

  test('ban ends with the window', async () => {
    const url = await served({ ban: 0, timeWindow: 300 })
    expect(await statusesOf(url, 5)).toEqual([200, 200, 200, 403, 403])
    await new Promise((resolve) => setTimeout(resolve, 320))
    expect(await statusesOf(url, 4)).toEqual([200, 200, 200, 403])
  })

  test('a limit of 0 refuses all, and says for how long', async () => {
    const { status, headers } = await fetch(await served({ max: 0 }))
    expect(status).toBe(429)
    expect(headers.get('retry-after')).toBe('60')
  })

  test('a limit may be a function of the request', async () => {
    const url = await served({
      max: (request: { url: string }) => (/pro/.test(request.url) ? 4 : 2),
    })
    expect(await statusesOf(url, 3)).toEqual([200, 200, 429])
    expect(await statusesOf(`${url}/?pro`, 3)).toEqual([200, 200, 429])
  })

  test.each(['continueExceeding', ...(version === '9' ? [] : ['exponentialBackoff'])])(
    '%s, which this store cannot do, is a coded error',
    async (option) => {
      const app = fastify()
      open.push(() => app.close())
      const store = weirStore(redis.store, { name: newName() })
      await expect(app.register(plugin.default, { store, [option]: true })).rejects.toMatchObject({
        code: 'WEIR_INVALID_OPTION',
      })
    },
  )
})

test('of version 11, a request can be looked at without being counted', async () => {
  const app = fastify5()
  open.push(() => app.close())
  const store = weirStore(redis.store, { name: newName() })
  await app.register(of11.default, { global: false, max: 3, timeWindow: 60_000, store })
  const check = app.createRateLimit() as (request: object, options?: object) => Promise<unknown>
  app.get('/look', (request) => check(request, { increment: false }))
  app.get('/count', (request) => check(request))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const remaining = async (path: string): Promise<unknown> =>
    ((await (await fetch(url + path)).json()) as { remaining: number }).remaining
  expect(await remaining('/look')).toBe(3)
  expect(await remaining('/count')).toBe(2)
  expect(await remaining('/look')).toBe(2)
})

test('ban needs fixed windows', () => {
  const Store = weirStore(redis.store, { name: newName(), algorithm: 'sliding-window' })
  expect(() => new Store({ ban: 1 })).toThrow(
    expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
  )
})
