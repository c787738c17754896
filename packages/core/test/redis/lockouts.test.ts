// Lock-outs together with what is in front of Redis: other processes, the deny cache and leases.

import { expect, test } from 'vitest'
import { lockout, RateLimiter, type RedisStoreOptions } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { newName, singleClient, strictStore } from './clients.js'

const LIMIT = 5

/** Limiters with one name, each on a separate store. */
function processes(count: number, options: RedisStoreOptions = {}, limit = LIMIT) {
  const clock = fakeClock()
  const name = newName()
  const policy = lockout({ limit, window: '15m', block: ['1m', '5m'], forget: '1d' })
  const limiters = Array.from({ length: count }, () => {
    const store = strictStore(singleClient(), { clock, instances: count, ...options })
    return new RateLimiter({ name, store, policy, shared: true })
  })
  return { clock, limiters: limiters as [RateLimiter, RateLimiter, ...RateLimiter[]] }
}

test('the deny cache answers for a block; when it is lifted, at once no more here, and within a second elsewhere', async () => {
  const { clock, limiters } = processes(2, {}, 1)
  const [one, other] = limiters
  await one.consume('k')
  for (const limiter of [one, other])
    expect(await limiter.consume('k')).toMatchObject({ source: 'store', reason: 'blocked' })
  for (const limiter of [one, other])
    expect(await limiter.consume('k')).toMatchObject({ source: 'cache', reason: 'blocked' })
  await one.unblock('k')
  clock.advance(999)
  expect(await other.consume('k')).toMatchObject({ source: 'cache', reason: 'blocked' })
  expect(await one.consume('k')).toMatchObject({ allowed: true, source: 'store' })
  clock.advance(1)
  expect(await other.consume('k')).toMatchObject({ source: 'store', reason: 'blocked' })
})

test('attempts are never leased', async () => {
  const { limiters } = processes(2, { leases: { units: 100, holdMs: 1_000 } }, 1_000)
  for (let i = 0; i < 200; i += 1) {
    const decision = await limiters[i % 2]?.consume('k')
    expect(decision).toMatchObject({ allowed: true, source: 'store', remaining: 999 - i })
  }
})

test('a block by hand is kept until it ends, and one of a count until its level is forgotten', async () => {
  const name = newName()
  const policy = lockout({ limit: 1, window: '1m', block: ['1m'], forget: '30d' })
  const limiter = new RateLimiter({ name, store: strictStore(singleClient()), policy })
  const keptMs = async (key: string): Promise<number> => {
    const keys = await singleClient().keys(`*${key}*`)
    return singleClient().pttl(keys.find((each) => each.includes(name)) ?? '')
  }
  await limiter.block('by-hand', '10m')
  const byHandMs = await keptMs('by-hand')
  expect(byHandMs).toBeGreaterThan(9 * 60_000)
  expect(byHandMs).toBeLessThan(12 * 60_000)
  await limiter.consume('of-a-count')
  expect(await keptMs('of-a-count')).toBeGreaterThan(29 * 86_400_000)
  // What is still to be forgotten is stored together with a block by hand.
  await limiter.block('of-a-count', '10m')
  expect(await keptMs('of-a-count')).toBeGreaterThan(29 * 86_400_000)
})

test.each(['limit', 'excess'] as const)(
  'a limit of 0 whose blocks start with the %s begins no block of another lock-out',
  async (starts) => {
    const guess = { window: '1h', block: ['1m', '5m'], forget: '1d' } as const
    const guesses = lockout({ ...guess, name: 'guesses', limit: 1, starts: 'excess' })
    const never = lockout({ ...guess, name: 'never', limit: 0, starts })
    const clock = fakeClock()
    const store = strictStore(singleClient(), { clock })
    const settings = { name: newName(), store, shared: true }
    const alone = new RateLimiter({ ...settings, policy: guesses })
    const both = new RateLimiter({ ...settings, policy: [guesses, never] })
    await alone.consume('k')
    expect((await both.consume('k')).allowed).toBe(false)
    clock.advance(10_000)
    expect(await alone.consume('k')).toMatchObject({ reason: 'blocked', retryAfterMs: 60_000 })
  },
)
