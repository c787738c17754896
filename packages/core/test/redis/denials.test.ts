// What was denied a moment ago is denied again without a call, as Redis would, and only as long as Redis would.

import { expect, test } from 'vitest'
import { fixedWindow, RateLimiter, type RedisStoreOptions, slidingLog, tokenBucket } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { singleClient, strictStore } from './clients.js'

const client = singleClient()
let runs = 0

function bench(options: RedisStoreOptions = {}) {
  const clock = fakeClock()
  let calls = 0
  const spy = {
    callBuffer(command: string, args: string[]) {
      if (command === 'evalsha') calls += 1
      return client.callBuffer(command, args)
    },
  }
  runs += 1
  const store = strictStore(spy, { clock, ...options, instances: 1 })
  const limiter = new RateLimiter({
    name: `d${Date.now().toString(36)}${runs}`,
    store,
    policy: [
      tokenBucket({ name: 'burst', capacity: 5, refill: 1, every: '1s' }),
      fixedWindow({ name: 'daily', limit: 1_000, window: '1d' }),
    ],
  })
  /** Calls that Redis got meanwhile. */
  async function callsOf(action: () => Promise<unknown>): Promise<number> {
    const before = calls
    await action()
    return calls - before
  }
  return { clock, store, limiter, callsOf }
}

test('a denied request is denied again without a call, its wait counted down, until the wait is over', async () => {
  const { clock, limiter, callsOf } = bench()
  await limiter.consume('k', { cost: 5 })
  const first = await limiter.consume('k')
  expect(first).toMatchObject({ allowed: false, source: 'store', retryAfterMs: 1_000 })
  clock.advance(400)
  expect(
    await callsOf(async () =>
      expect(await limiter.consume('k')).toMatchObject({
        allowed: false,
        source: 'local',
        degraded: false,
        retryAfterMs: 600,
        reason: 'limit',
        remaining: 0,
      }),
    ),
  ).toBe(0)
  clock.advance(599)
  expect(await callsOf(() => limiter.consume('k'))).toBe(0)
  clock.advance(1)
  expect(await callsOf(async () => expect((await limiter.consume('k')).allowed).toBe(true))).toBe(1)
})

test('and for no more than a second, so that changes made elsewhere show', async () => {
  const { clock, limiter, callsOf } = bench()
  await limiter.penalty('k', { cost: 10 })
  await limiter.consume('k')
  clock.advance(999)
  expect(await callsOf(() => limiter.consume('k'))).toBe(0)
  clock.advance(1)
  expect(await callsOf(() => limiter.consume('k'))).toBe(1)
})

test.each([
  ['of another cost', (limiter: RateLimiter) => limiter.consume('k', { cost: 2 })],
  ['of another key', (limiter: RateLimiter) => limiter.consume('other')],
  [
    'under other numbers',
    (limiter: RateLimiter) =>
      limiter.consume('k', { policy: tokenBucket({ name: 'burst', capacity: 9, refill: 1, every: '1s' }) }),
  ],
  ['that only looks', (limiter: RateLimiter) => limiter.peek('k')],
  ['that charges in any case', (limiter: RateLimiter) => limiter.penalty('k')],
])('a request %s goes to Redis', async (_, request) => {
  const { limiter, callsOf } = bench()
  await limiter.consume('k', { cost: 5 })
  await limiter.consume('k')
  expect(await callsOf(() => request(limiter))).toBe(1)
})

test.each([
  ['a refund', (limiter: RateLimiter) => limiter.refund('k')],
  ['a reset', (limiter: RateLimiter) => limiter.reset('k')],
  [
    'a refund by another limiter of the name',
    (limiter: RateLimiter) =>
      new RateLimiter({
        name: limiter.name,
        store: limiter.store,
        shared: true,
        policy: tokenBucket({ name: 'burst', capacity: 5, refill: 1, every: '1s' }),
      }).refund('k'),
  ],
])('%s in this process shows at once', async (_, change) => {
  const { limiter } = bench()
  await limiter.consume('k', { cost: 5 })
  expect((await limiter.consume('k')).allowed).toBe(false)
  await change(limiter)
  expect((await limiter.consume('k')).allowed).toBe(true)
})

test('it can be switched off', async () => {
  const { limiter, callsOf } = bench({ denyCache: false })
  await limiter.consume('k', { cost: 5 })
  await limiter.consume('k')
  expect(await callsOf(() => limiter.consume('k'))).toBe(1)
})

test('a cost that can never pass is refused without a call, too', async () => {
  const { limiter, callsOf } = bench()
  await limiter.consume('k', { cost: 6 })
  expect(
    await callsOf(async () =>
      expect(await limiter.consume('k', { cost: 6 })).toMatchObject({
        reason: 'cost-exceeds-limit',
        retryAfterMs: Infinity,
      }),
    ),
  ).toBe(0)
})

test('a flood of one refused key costs Redis one call a second', async () => {
  const { clock, limiter, callsOf } = bench()
  await limiter.penalty('k', { cost: 10, policy: slidingLog({ name: 'l', limit: 5, window: '1h' }) })
  const calls = await callsOf(async () => {
    for (let i = 0; i < 5_000; i += 1) {
      clock.advance(1)
      await limiter.consume('k', { policy: slidingLog({ name: 'l', limit: 5, window: '1h' }) })
    }
  })
  expect(calls).toBe(5)
})
