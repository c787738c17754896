// What is special to Weir's store under both majors of express-rate-limit, over HTTP and Redis.
// behaviours.test.ts has what the limiter documents.

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

/** The response for `/`: 200, or the status in the query. */
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

  test('a limit that is a function, with a store without a limit, is a coded error', async () => {
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

  test('a limit of 0 refuses everything, with a wait', async () => {
    const { status, headers } = await fetch(
      await limited({ limit: 0, validate: { limit: false } }).url,
    )
    expect(status).toBe(429)
    expect(headers.get('retry-after')).toBe('60')
  })

  test('a limit that is a function, and above that of the store, is reduced to it', async () => {
    const store = weirStore(redis.store, { name: newName(), limit: 2 })
    const url = await served(rateLimit({ windowMs: 60_000, limit: () => 9, store }))
    expect(await statusesOf(url, 4)).toEqual([200, 200, 429, 429])
  })

  test('a refusal that is not taken back hides no other', async () => {
    const { url, store } = limited({ limit: 1, skipSuccessfulRequests: true })
    expect(await statusesOf(`${await url}?status=500`, 3)).toEqual([500, 429, 429])
    await store.decrement('203.0.113.1')
    expect(await store.get('203.0.113.1')).toBeUndefined()
  })

  test('the middleware finds nothing to complain about', async () => {
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
