// express-rate-limit's own behaviours, over Weir's store on Redis: of both majors, by HTTP.

import type { AddressInfo } from 'node:net'
import express from 'express'
import * as of8 from 'express-rate-limit'
import * as of7 from 'express-rate-limit-7'
import { afterEach, describe, expect, test } from 'vitest'
import { type WeirStore, weirStore } from '../src/express-rate-limit.js'
import { newName, onRedis } from './on-redis.js'

const redis = onRedis()

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** What is answered on `/`: 200, or what the query says. */
async function served(middleware: express.RequestHandler): Promise<string> {
  const app = express()
    .set('trust proxy', 1)
    .use(middleware)
    .get('/', (request, response) => {
      response.status(Number(request.query.status ?? 200)).json({ of: 'the handler' })
    })
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  open.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function statusesOf(url: string, count: number, user = '203.0.113.1'): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i += 1) {
    const { status } = await fetch(url, { headers: { 'x-forwarded-for': user } })
    statuses.push(status)
  }
  return statuses
}

describe.each([
  ['8', of8],
  ['7', of7 as unknown as typeof of8],
])('express-rate-limit %s', (_, { rateLimit }) => {
  const limited = (
    options: object,
    name = newName(),
  ): { url: Promise<string>; store: WeirStore } => {
    const store = weirStore(redis.store, { name, shared: true })
    return { url: served(rateLimit({ windowMs: 60_000, limit: 5, store, ...options })), store }
  }

  test('lets the limit pass for each key, and refuses what comes after it', async () => {
    const url = await limited({}).url
    expect(await statusesOf(url, 7)).toEqual([200, 200, 200, 200, 200, 429, 429])
    expect(await statusesOf(url, 2, '203.0.113.2')).toEqual([200, 200])
  })

  test('says in headers what is left, and when it is more', async () => {
    const url = await limited({ standardHeaders: 'draft-7', legacyHeaders: true }).url
    const { headers } = await fetch(url)
    expect(headers.get('ratelimit-policy')).toBe('5;w=60')
    expect(headers.get('ratelimit')).toMatch(/^limit=5, remaining=4, reset=(60|59)$/)
    expect(headers.get('x-ratelimit-remaining')).toBe('4')
    const resetS = Number(headers.get('x-ratelimit-reset')) - Date.now() / 1_000
    expect(resetS).toBeGreaterThan(57)
    expect(resetS).toBeLessThan(62)
    await statusesOf(url, 4, '127.0.0.1')
    const refused = await fetch(url)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('ratelimit')).toMatch(/remaining=0/)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(55)
  })

  test('begins anew when the window is over', async () => {
    const url = await limited({ windowMs: 300 }).url
    expect(await statusesOf(url, 6)).toEqual([200, 200, 200, 200, 200, 429])
    await new Promise((resolve) => setTimeout(resolve, 320))
    expect(await statusesOf(url, 1)).toEqual([200])
  })

  test('skipFailedRequests takes back what failed, and nothing else: of 100, 5 pass', async () => {
    const url = await limited({ skipFailedRequests: true }).url
    expect(await statusesOf(`${url}?status=500`, 20)).toEqual(Array(20).fill(500))
    const statuses = await statusesOf(url, 100)
    expect(statuses.filter((status) => status === 200)).toHaveLength(5)
    const next = await statusesOf(url, 3)
    expect(next).toEqual([429, 429, 429])
  })

  test('skipSuccessfulRequests takes back what succeeded', async () => {
    const url = await limited({ skipSuccessfulRequests: true }).url
    expect(await statusesOf(url, 20)).toEqual(Array(20).fill(200))
    expect(await statusesOf(`${url}?status=404`, 6)).toEqual([404, 404, 404, 404, 404, 429])
  })

  test('resetKey and getKey act on a key', async () => {
    const name = newName()
    const store = weirStore(redis.store, { name })
    const middleware = rateLimit({ windowMs: 60_000, limit: 2, store, keyGenerator: () => 'ann' })
    const url = await served(middleware)
    expect(await middleware.getKey('ann')).toBeUndefined()
    expect(await statusesOf(url, 3)).toEqual([200, 200, 429])
    expect(await middleware.getKey('ann')).toMatchObject({ totalHits: 2 })
    await middleware.resetKey('ann')
    expect(await statusesOf(url, 1)).toEqual([200])
  })

  test('two stores of one name count together', async () => {
    const name = newName()
    const urls = [await limited({}, name).url, await limited({}, name).url]
    const statuses = [...(await statusesOf(urls[0] as string, 3))]
    statuses.push(...(await statusesOf(urls[1] as string, 3)))
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
  })

  test('a limit that is a function judges by itself, below the limit of the store', async () => {
    const store = weirStore(redis.store, { name: newName(), limit: 100 })
    const limit = (request: express.Request): number => (request.query.pro === '1' ? 4 : 2)
    const url = await served(rateLimit({ windowMs: 60_000, limit, store }))
    expect(await statusesOf(url, 3)).toEqual([200, 200, 429])
    expect(await statusesOf(`${url}?pro=1`, 2)).toEqual([200, 429])
  })

  test('a limit that is a function, of a store that was given none, is a coded error', async () => {
    const errors: unknown[] = []
    const store = weirStore(redis.store, { name: newName() })
    expect(() => store.init({ windowMs: 1_000, limit: () => 5 })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
    await store.increment('k').catch((error: unknown) => errors.push(error))
    expect(() => store.init({ windowMs: 1_000, limit: 2.5 })).toThrow(/2\.5/)
    await store.increment('k').catch((error: unknown) => errors.push(error))
    expect(errors).toMatchObject([{ code: 'WEIR_INVALID_OPTION' }, { code: 'WEIR_INVALID_POLICY' }])
  })

  test('a limit of 0 refuses all, and says for how long', async () => {
    const { status, headers } = await fetch(
      await limited({ limit: 0, validate: { limit: false } }).url,
    )
    expect(status).toBe(429)
    expect(headers.get('retry-after')).toBe('60')
  })

  test('keys of any form are counted, also where errors of the store are passed on', async () => {
    const keyGenerator = (request: express.Request): string => request.header('x-key') ?? ''
    const options = { limit: 1, passOnStoreError: true, keyGenerator, validate: false }
    const url = await limited(options).url
    for (const key of [undefined, 'x'.repeat(9_000), '__proto__']) {
      const headers = key === undefined ? {} : { 'x-key': key }
      const ask = async (): Promise<number> => (await fetch(url, { headers })).status
      expect([await ask(), await ask()]).toEqual([200, 429])
    }
  })

  test('a limit that is a function, and above that of the store, is refused at that', async () => {
    const store = weirStore(redis.store, { name: newName(), limit: 2 })
    const url = await served(rateLimit({ windowMs: 60_000, limit: () => 9, store }))
    expect(await statusesOf(url, 4)).toEqual([200, 200, 429, 429])
  })

  test('refusals that are not taken back swallow none that is', async () => {
    const { url, store } = limited({ limit: 1, skipSuccessfulRequests: true })
    expect(await statusesOf(`${await url}?status=500`, 3)).toEqual([500, 429, 429])
    await store.decrement('203.0.113.1')
    expect(await store.get('203.0.113.1')).toBeUndefined()
  })

  test('the middleware finds nothing to complain of', async () => {
    const complaints: unknown[] = []
    const logger = { error: (it: unknown) => complaints.push(it), warn: () => {} }
    const { error } = console
    console.error = (it: unknown) => complaints.push(it)
    try {
      const url = await limited({ ...(rateLimit === of8.rateLimit ? { logger } : {}) }).url
      await statusesOf(url, 7)
    } finally {
      console.error = error
    }
    expect(complaints).toEqual([])
  })
})
