// hono-rate-limiter's own behaviours, over Weir's store on Redis.

import { Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { expect, test } from 'vitest'
import { weirStore } from '../src/hono-rate-limiter.js'
import { newName, onRedis } from './on-redis.js'

const redis = onRedis()

type Status = 200 | 404 | 500

function served(options: object): (path?: string, user?: string) => Promise<Response> {
  const app = new Hono()
  const keyGenerator = (c: { req: { header(name: string): string | undefined } }): string =>
    c.req.header('x-user') ?? ''
  const store = weirStore(redis.store, { name: newName() })
  const all = { windowMs: 60_000, limit: 5, keyGenerator, store, ...options }
  app.use(rateLimiter(all as Parameters<typeof rateLimiter>[0]))
  app.get('/', (c) => c.text('ok', Number(c.req.query('status') ?? 200) as Status))
  return async (path = '/', user = 'ann') => app.request(path, { headers: { 'x-user': user } })
}

async function statusesOf(ask: () => Promise<Response>, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < count; i += 1) statuses.push((await ask()).status)
  return statuses
}

test('lets the limit pass for each key, refuses what comes after it, and says so', async () => {
  const ask = served({ standardHeaders: 'draft-7' })
  const first = await ask()
  expect(first.headers.get('ratelimit')).toMatch(/^limit=5, remaining=4, reset=(60|59)$/)
  expect(await statusesOf(ask, 6)).toEqual([200, 200, 200, 200, 429, 429])
  expect((await ask('/', 'bob')).status).toBe(200)
  expect(Number((await ask()).headers.get('retry-after'))).toBeGreaterThan(55)
})

test('begins anew when the window is over', async () => {
  const ask = served({ windowMs: 300 })
  expect(await statusesOf(ask, 6)).toEqual([200, 200, 200, 200, 200, 429])
  await new Promise((resolve) => setTimeout(resolve, 320))
  expect(await statusesOf(ask, 1)).toEqual([200])
})

test('skipFailedRequests takes back what failed, and nothing else: of 100, 5 pass', async () => {
  const ask = served({ skipFailedRequests: true })
  expect(await statusesOf(() => ask('/?status=500'), 20)).toEqual(Array(20).fill(500))
  const statuses = await statusesOf(ask, 100)
  expect(statuses.filter((status) => status === 200)).toHaveLength(5)
})

test('skipSuccessfulRequests takes back what succeeded', async () => {
  const ask = served({ skipSuccessfulRequests: true })
  expect(await statusesOf(ask, 20)).toEqual(Array(20).fill(200))
  const failing = await statusesOf(() => ask('/?status=404'), 6)
  expect(failing).toEqual([404, 404, 404, 404, 404, 429])
})
