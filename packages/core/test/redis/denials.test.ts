// A recent denial is repeated without a call, with the answer that Redis would give, and only as
// long as Redis would give it.

import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  gcra,
  type PolicyInput,
  RateLimiter,
  type RedisStoreOptions,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js'
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
  /** How many calls Redis gets during an action. */
  async function callsOf(action: () => Promise<unknown>): Promise<number> {
    const before = calls
    await action()
    return calls - before
  }
  return { clock, store, limiter, callsOf }
}

test('a denied request is denied again without a call, with its wait counted down, until the wait is over', async () => {
  const { clock, limiter, callsOf } = bench()
  await limiter.consume('k', { cost: 5 })
  const first = await limiter.consume('k')
  expect(first).toMatchObject({ allowed: false, source: 'store', retryAfterMs: 1_000 })
  clock.advance(400)
  expect(
    await callsOf(async () =>
      expect(await limiter.consume('k')).toMatchObject({
        allowed: false,
        source: 'cache',
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

test('and for at most a second, so that changes made elsewhere show', async () => {
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
      limiter.consume('k', {
        policy: tokenBucket({ name: 'burst', capacity: 9, refill: 1, every: '1s' }),
      }),
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

test.each<[string, (limiter: RateLimiter) => Promise<unknown>]>([
  ['consumeUpTo', (limiter) => limiter.consumeUpTo('k', 3)],
  ['a wait', (limiter) => limiter.wait('k', { cost: 3 })],
  ['a penalty', (limiter) => limiter.penalty('k', { cost: 3 })],
  ['a smaller request', (limiter) => limiter.consume('k', { cost: 3 })],
])(
  'units that %s takes in this process show in later denials: their waits suffice',
  async (_, take) => {
    const { clock, limiter } = bench()
    const policy = slidingLog({ name: 'log', limit: 10, window: '1s' })
    const log = new RateLimiter({ name: `${limiter.name}-log`, store: limiter.store, policy })
    await log.consume('k', { cost: 4 })
    clock.advance(500)
    await log.consume('k', { cost: 3 })
    expect(await log.consume('k', { cost: 5 })).toMatchObject({ remaining: 3, retryAfterMs: 500 })
    expect((await log.consume('k', { cost: 5 })).source).toBe('cache')
    await take(log)
    const denied = await log.consume('k', { cost: 5 })
    expect(denied).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 1_000 })
    clock.advance(999)
    expect((await log.consume('k', { cost: 5 })).allowed).toBe(false)
    clock.advance(1)
    expect((await log.consume('k', { cost: 5 })).allowed).toBe(true)
  },
)

test('it can be switched off', async () => {
  const { limiter, callsOf } = bench({ denyCache: false })
  await limiter.consume('k', { cost: 5 })
  await limiter.consume('k')
  expect(await callsOf(() => limiter.consume('k'))).toBe(1)
})

test('a cost that can never pass is also refused without a call', async () => {
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
  await limiter.penalty('k', {
    cost: 10,
    policy: slidingLog({ name: 'l', limit: 5, window: '1h' }),
  })
  const calls = await callsOf(async () => {
    for (let i = 0; i < 5_000; i += 1) {
      clock.advance(1)
      await limiter.consume('k', { policy: slidingLog({ name: 'l', limit: 5, window: '1h' }) })
    }
  })
  expect(calls).toBe(5)
})

describe('a denial that was in progress when units came back is not remembered', () => {
  const burst = tokenBucket({ name: 'burst', capacity: 1, refill: 1, every: '1h' })
  const shared = fixedWindow({ name: 'shared', limit: 1, window: '1d' })
  const pair: PolicyInput = [burst, { policy: shared, key: 'all' }]

  /** A limiter whose replies can be held back. */
  function held(policy: PolicyInput) {
    /** Called when a reply is there, which is passed on when the returned promise is resolved. */
    let holdBack: (() => Promise<void>) | undefined
    const slow = {
      async callBuffer(command: string, args: string[]) {
        const hold = holdBack
        holdBack = undefined
        const reply = await client.callBuffer(command, args)
        await hold?.()
        return reply
      },
    }
    runs += 1
    const store = strictStore(slow, { instances: 1, clock: fakeClock() })
    const name = `h${Date.now().toString(36)}${runs}`
    const limiter = new RateLimiter({ name, store, policy })
    return {
      store,
      limiter,
      /** Acts after Redis has answered, and before that answer is read. */
      async during(ask: () => Promise<unknown>, act: () => Promise<unknown>) {
        let handOver = () => {}
        const arrived = new Promise<void>((resolve) => {
          holdBack = () => {
            resolve()
            return new Promise((done) => {
              handOver = done
            })
          }
        })
        const asked = ask()
        await arrived
        await act()
        handOver()
        return asked
      },
    }
  }

  test.each<[string, PolicyInput, (limiter: RateLimiter) => Promise<unknown>]>([
    ['a reset', burst, (limiter) => limiter.reset('k')],
    ['a refund', burst, (limiter) => limiter.refund('k')],
    [
      'a reset of a shared key',
      [{ policy: shared, key: 'all' }],
      (limiter) => limiter.reset('all'),
    ],
    [
      'a reset of a shared key by another policy set',
      [{ policy: shared, key: 'all' }],
      (limiter) => limiter.reset('all', { policy: shared }),
    ],
    [
      'a refund of a shared key',
      [{ policy: shared, key: 'all' }],
      (limiter) => limiter.refund('other', { policy: [{ policy: shared, key: 'all' }] }),
    ],
    [
      'a reset by another limiter of the name',
      burst,
      ({ name, store }) => new RateLimiter({ name, store, policy: burst, shared: true }).reset('k'),
    ],
  ])('%s', async (_, policy, change) => {
    const { limiter, during } = held(policy)
    await limiter.consume('k')
    expect(
      await during(
        () => limiter.consume('k'),
        () => change(limiter),
      ),
    ).toMatchObject({ allowed: false, source: 'store' })
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'store' })
  })

  test.each<[string, (limiter: RateLimiter) => Promise<unknown>]>([
    ['a reset', (limiter) => limiter.reset('all')],
    ['a reset by another policy set', (limiter) => limiter.reset('all', { policy: shared })],
    ['a refund through another key', (limiter) => limiter.refund('other')],
  ])('nor is one from before %s of a shared key', async (_, change) => {
    const { limiter } = held(pair)
    await limiter.consume('first')
    expect((await limiter.consume('second')).allowed).toBe(false)
    expect((await limiter.consume('second')).source).toBe('cache')
    await change(limiter)
    expect(await limiter.consume('second')).toMatchObject({ allowed: true, source: 'store' })
  })
})

/** A limiter with the deny cache and one without on the same counters, over calls that take some
 *  time. */
function twins(policy: PolicyInput, latencyMs: () => number) {
  const clock = fakeClock()
  const slow = {
    async callBuffer(command: string, args: string[]) {
      clock.advance(latencyMs())
      const reply = await client.callBuffer(command, args)
      clock.advance(latencyMs())
      return reply
    },
  }
  runs += 1
  const name = `t${Date.now().toString(36)}${runs}`
  const cached = new RateLimiter({
    name,
    policy,
    store: strictStore(slow, { clock, instances: 1 }),
  })
  const exact = new RateLimiter({
    name,
    policy,
    store: strictStore(client, { clock, instances: 1, denyCache: false }),
  })
  return { clock, cached, exact }
}

test.each([
  gcra({ limit: 2_000, period: '1s', burst: 1 }),
  gcra({ limit: 700, period: '1s', burst: 1 }),
  tokenBucket({ capacity: 5, refill: 100, every: '1s' }),
  fixedWindow({ limit: 3, window: 20 }),
  slidingLog({ limit: 3, window: 20 }),
  slidingWindow({ limit: 30, window: 120 }),
  slidingCounter({ limit: 5, window: 30 }),
])('Redis would deny what is denied without a call: $algorithm, $name', async (policy) => {
  let seed = 7
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  const { clock, cached, exact } = twins(policy, () => random() * 1.5)
  let remembered = 0
  for (let step = 0; step < 400; step += 1) {
    const key = random() < 0.8 ? 'hot' : 'cold'
    const cost = random() < 0.8 ? 1 : 2
    const roll = random()
    if (roll < 0.02) await cached.reset(key)
    else if (roll < 0.05) await cached.refund(key)
    else if (roll < 0.07) await cached.penalty(key)
    const decision = await cached.consume(key, { cost })
    if (decision.source === 'cache') {
      remembered += 1
      const then = await exact.peek(key, { cost })
      if (then.allowed) expect.unreachable(`step ${step}: Redis would allow`)
      if (!decision.allowed && !then.allowed) {
        expect(decision.retryAfterMs).toBeGreaterThanOrEqual(then.retryAfterMs)
      }
    }
    clock.advance(random() * random() * 3)
  }
  expect(remembered).toBeGreaterThan(5)
})

test('a change that another process makes shows within a second', async () => {
  const { clock, cached, exact } = twins(fixedWindow({ limit: 1, window: '1h' }), () => 0.3)
  for (let round = 0; round < 10; round += 1) {
    await cached.consume('k')
    await cached.consume('k')
    clock.advance(round * 37)
    expect((await cached.consume('k')).source).toBe('cache')
    await exact.reset('k')
    const sinceUs = clock.nowUs()
    while (!(await cached.peek('k')).allowed || !(await cached.consume('k')).allowed)
      clock.advance(1)
    expect(clock.nowUs() - sinceUs).toBeLessThanOrEqual(1_002_000)
  }
})

test('gcra with 2,000 a second and burst 1 lets as much through as without', async () => {
  async function passed(denyCache: boolean): Promise<number> {
    const { clock, cached, exact } = twins(
      gcra({ limit: 2_000, period: '1s', burst: 1 }),
      () => 0.04,
    )
    const limiter = denyCache ? cached : exact
    const endUs = clock.nowUs() + 500_000
    let allowed = 0
    while (clock.nowUs() < endUs) {
      if ((await limiter.consume('k')).allowed) allowed += 1
      clock.advance(denyCache ? 0.02 : 0.1)
    }
    return allowed
  }
  const without = await passed(false)
  expect(without).toBeGreaterThan(800)
  expect(await passed(true)).toBeGreaterThanOrEqual(0.95 * without)
})
