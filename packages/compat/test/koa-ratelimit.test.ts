// async-ratelimiter, which counts for koa-ratelimit, on Weir's store on Redis. behaviours.test.ts
// has what koa-ratelimit does over HTTP.

import { memoryStore } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import AsyncRateLimiter from 'async-ratelimiter'
import Of13 from 'async-ratelimiter-1.3'
import Of15 from 'async-ratelimiter-1.5'
import type { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { weirDb } from '../src/koa-ratelimit.js'
import { newName, onRedis } from './on-redis.js'

const redis = onRedis()

const nowS = (): number => Date.now() / 1_000

/** @param seconds from now */
function expectNear(reset: number, seconds: number): void {
  expect(Number.isInteger(reset)).toBe(true)
  expect(reset - nowS()).toBeGreaterThan(seconds - 3)
  expect(reset - nowS()).toBeLessThanOrEqual(seconds + 2)
}

test.each([
  ['1.6', AsyncRateLimiter],
  ['1.5', Of15],
])('async-ratelimiter %s gets what was left before, and when there is more', async (_, Limiter) => {
  const db = weirDb<Redis>(redis.store, { name: newName() })
  const limiter = new Limiter({ db, max: 2, duration: 60_000, id: 'ann' })
  const first = await limiter.get()
  expect(first).toMatchObject({ remaining: 2, total: 2 })
  expectNear(first.reset, 60)
  expect(await limiter.get()).toMatchObject({ remaining: 1, total: 2 })
  const refused = await limiter.get()
  expect(refused).toMatchObject({ remaining: 0, total: 2 })
  expectNear(refused.reset, 60)
  expect(await limiter.get({ id: 'bob' })).toMatchObject({ remaining: 2 })
})

test('a request may have its own limit and window', async () => {
  const limiter = new AsyncRateLimiter({ db: weirDb(redis.store, { name: newName() }), id: 'ann' })
  const own = { max: 1, duration: 10_000 }
  const { reset, ...first } = await limiter.get(own)
  expect(first).toEqual({ remaining: 1, total: 1 })
  expectNear(reset, 10)
  expect(await limiter.get(own)).toMatchObject({ remaining: 0, total: 1 })
  expect(await limiter.get()).toMatchObject({ remaining: 2_500, total: 2_500 })
})

test('a peek takes nothing', async () => {
  const db = weirDb<Redis>(redis.store, { name: newName() })
  const limiter = new AsyncRateLimiter({ db, max: 2, duration: 60_000, id: 'ann' })
  const unseen = await limiter.get({ peek: true })
  expect(unseen).toMatchObject({ remaining: 2, total: 2 })
  expectNear(unseen.reset, 60)
  await limiter.get()
  expect(await limiter.get({ peek: true })).toMatchObject({ remaining: 1 })
  await limiter.get()
  const full = await limiter.get({ peek: true })
  expect(full).toMatchObject({ remaining: 0 })
  expectNear(full.reset, 60)
})

test('no window has more than its limit, unless windows are fixed', async () => {
  const passed = async (algorithm: 'fixed-window' | undefined): Promise<number> => {
    const clock = fakeClock()
    const db = weirDb<Redis>(memoryStore({ clock }), { algorithm })
    const limiter = new AsyncRateLimiter({ db, max: 4, duration: 3_000, id: 'ann' })
    const ask = async (): Promise<number> => ((await limiter.get()).remaining > 0 ? 1 : 0)
    let count = await ask()
    clock.advance('2s')
    for (let i = 0; i < 3; i += 1) count += await ask()
    // 1.2 s after these three, and more than 3 s after the first.
    clock.advance(1_200)
    for (let i = 0; i < 4; i += 1) count += await ask()
    return count
  }
  const [sliding, fixed] = await Promise.all([passed(undefined), passed('fixed-window')])
  expect(sliding).toBe(5)
  expect(fixed).toBe(8)
})

test.each([0, 1, 500, 999])(
  'what is left of a refusal, rounded down %i ms after a second, is no shorter wait',
  async (ms) => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 + ms })
    onTestFinished(() => void vi.useRealTimers())
    const limiter = new AsyncRateLimiter({ db: weirDb(memoryStore()), max: 1, duration: 59_400 })
    await limiter.get({ id: 'ann' })
    const { remaining, reset } = await limiter.get({ id: 'ann' })
    expect(remaining).toBe(0)
    // As koa-ratelimit computes `Retry-After`.
    expect(Math.trunc(reset - nowS())).toBe(ms === 0 ? 61 : 60)
  },
)

test('a request that cannot be counted is a coded error', async () => {
  const db = weirDb<Redis>(redis.store, { name: newName() })
  await expect(new AsyncRateLimiter({ db, max: 2.5, id: 'ann' }).get()).rejects.toMatchObject({
    code: 'WEIR_INVALID_POLICY',
  })
  const older = new Of13({ db, id: 'ann' })
  await expect(older.get()).rejects.toMatchObject({ code: 'WEIR_INVALID_OPTION' })
})
