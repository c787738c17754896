// A policy as `whenUnavailable`: each process decides by it alone while the store is away, and what
// it admits is counted in the store afterwards.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { resilient } from '../../../src/entries/store.js'
import {
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  type Policy,
  type PolicyInput,
  policyFrom,
  RateLimiter,
  type RateLimiterOptions,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
  type WhenUnavailable,
} from '../../../src/index.js'
import { resilientIn } from '../../../src/layers/resilience/resilient.js'
import type { MemoryStore } from '../../../src/memory/store.js'
import type { Store } from '../../../src/store.js'
import { type VirtualTime, virtualTime } from '../../virtual-time.js'
import { memoryIn } from '../requests.js'

const five = slidingLog({ name: 'log-ins', limit: 5, window: '15m' })
const two = slidingLog({ limit: 2, window: '1m' })

beforeEach(() => void vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never))
afterEach(() => void vi.restoreAllMocks())

interface Shared {
  readonly time: VirtualTime
  readonly memory: MemoryStore
  isAway: boolean
}

function shared(): Shared {
  const time = virtualTime()
  return { time, memory: memoryIn(time), isAway: false }
}

/** One of several processes that share a store. */
function processOf(
  world: Shared,
  options: Partial<RateLimiterOptions> & { readonly policy: PolicyInput },
  rank = 0,
  count = 1,
) {
  const { time, memory } = world
  const users: Store = {
    recovers: true,
    reserves: true,
    async decide(request) {
      if (world.isAway) throw new Error('away')
      return memory.decide(request)
    },
    async reset(target) {
      if (world.isAway) throw new Error('away')
      memory.reset(target)
    },
  }
  const store = resilientIn(time, users, { instances: { count, rank } })
  const limiter = new RateLimiter({ name: 'login', store, ...options })
  const settled = <Value>(promise: Promise<Value>): Promise<Value> => time.settle(promise)
  return {
    store,
    limiter,
    settled,
    consume: (key = 'u42', more = {}): Promise<Decision> => settled(limiter.consume(key, more)),
    async passed(tries: number, key = 'u42'): Promise<number> {
      let passed = 0
      for (let i = 0; i < tries; i += 1)
        if ((await settled(limiter.consume(key))).allowed) passed += 1
      return passed
    },
  }
}

function usedIn({ memory }: Shared, policy: Policy, key = 'u42'): number {
  const options = { name: 'login', store: memory, policy, shared: true }
  const decision = new RateLimiter(options).decide(key, { cost: 0 }) as Decision
  return decision.limit - decision.remaining
}

async function isBack(world: Shared): Promise<void> {
  world.isAway = false
  await world.time.advance(5_000)
}

describe('in an outage', () => {
  const options = { policy: five, whenUnavailable: two }

  test('each of ten processes admits its limit, however small the shared limit', async () => {
    const world = shared()
    const processes = Array.from({ length: 10 }, (_, rank) => processOf(world, options, rank, 10))
    world.isAway = true
    for (const each of processes) expect(await each.passed(5)).toBe(2)
    await isBack(world)
    for (const each of processes) await each.store.close()
  })

  test('it begins with nothing taken, and has its own window', async () => {
    const world = shared()
    const one = processOf(world, options)
    expect(await one.passed(9)).toBe(5)
    world.isAway = true
    expect(await one.passed(9)).toBe(2)
    await world.time.advance(61_000)
    expect(await one.passed(9)).toBe(2)
    await one.store.close()
  })

  test('decisions have the name and the limit of the policy that it replaces', async () => {
    const world = shared()
    const one = processOf(world, options)
    world.isAway = true
    const decision = await one.consume()
    expect(decision).toMatchObject({ allowed: true, limit: 5, remaining: 1, degraded: true })
    expect(decision.policies).toMatchObject([{ policy: five, limit: 5, remaining: 1 }])
    await one.consume()
    const denied = await one.consume()
    expect(denied).toMatchObject({ allowed: false, reason: 'limit', limit: 5, remaining: 0 })
    expect(denied).toMatchObject({ retryAfterMs: expect.closeTo(60_000, -2) })
    expect(one.limiter.stats().policies.map(({ policy }) => policy)).toEqual(['log-ins'])
    await one.store.close()
  })

  test('no more is shown as remaining than the shared limit, if that is smaller', async () => {
    const world = shared()
    const more = slidingLog({ limit: 20, window: '1m' })
    const one = processOf(world, { policy: five, whenUnavailable: more })
    world.isAway = true
    expect(await one.consume()).toMatchObject({ limit: 5, remaining: 5 })
    expect(await one.passed(30)).toBe(19)
    await one.store.close()
  })

  test('a cost above its limit is not denied forever', async () => {
    const world = shared()
    const one = processOf(world, options)
    world.isAway = true
    expect(await one.consume('u42', { cost: 3 })).toMatchObject({ retryAfterMs: 1_000 })
    await one.store.close()
  })
})

const ALL: Record<string, (limit: number) => Policy> = {
  fixed: (limit) => fixedWindow({ name: 'p', limit, window: '15m' }),
  aligned: (limit) => fixedWindow({ name: 'p', limit, window: '15m', aligned: true }),
  day: (limit) => fixedWindow({ name: 'p', limit, window: 'day', timeZone: 'Asia/Kolkata' }),
  window: (limit) => slidingWindow({ name: 'p', limit, window: '15m' }),
  log: (limit) => slidingLog({ name: 'p', limit, window: '15m' }),
  counter: (limit) => slidingCounter({ name: 'p', limit, window: '15m' }),
  bucket: (capacity) => tokenBucket({ name: 'p', capacity, refill: capacity, every: '15m' }),
  gcra: (limit) => gcra({ name: 'p', limit, period: '15m', burst: limit }),
}
const OUTAGE: Record<string, Policy> = {
  fixed: fixedWindow({ limit: 6, window: '10s' }),
  log: slidingLog({ limit: 6, window: '1h' }),
  counter: slidingCounter({ limit: 6, window: '10s' }),
  bucket: tokenBucket({ capacity: 6, refill: 1, every: '1m' }),
  day: fixedWindow({ limit: 6, window: 'day' }),
}
const PAIRS = [
  ...Object.keys(ALL).map((of) => [of, 'fixed'] as const),
  ...Object.keys(OUTAGE).map((by) => ['log', by] as const),
]

test.each(PAIRS)('what it admits is counted in the store afterwards: %s, by %s', async (of, by) => {
  const world = shared()
  const policy = (ALL[of] as (typeof ALL)[''])(20)
  const one = processOf(world, { policy, whenUnavailable: OUTAGE[by] })
  expect(await one.passed(3)).toBe(3)
  world.isAway = true
  expect(await one.passed(10)).toBe(6)
  await isBack(world)
  expect(usedIn(world, policy)).toBe(9)
  expect(await one.passed(30)).toBe(11)
  await one.store.close()
})

describe('each method means the same', () => {
  const options = { policy: five, whenUnavailable: two }

  async function inOutage(some: Parameters<typeof processOf>[1] = options) {
    const world = shared()
    const one = processOf(world, some)
    await one.consume('other')
    world.isAway = true
    // The breaker opens.
    for (let i = 0; i < 5; i += 1) await one.settled(one.limiter.peek('other'))
    return { world, ...one }
  }

  test('a refund gives back in it, and is not counted in the store', async () => {
    const { settled, limiter, consume, passed, world } = await inOutage()
    await settled(limiter.refund(await consume()))
    expect(await passed(5)).toBe(2)
    await isBack(world)
    expect(usedIn(world, five)).toBe(2)
  })

  test('a refund after the outage gives back in the store', async () => {
    const { settled, limiter, consume, world } = await inOutage()
    const decision = await consume()
    await isBack(world)
    expect(usedIn(world, five)).toBe(1)
    await settled(limiter.refund(decision))
    expect(usedIn(world, five)).toBe(0)
  })

  test('a refund gives nothing back in a later window of it', async () => {
    const byWindow = fixedWindow({ limit: 2, window: '10s' })
    const { settled, limiter, consume, passed, world } = await inOutage({
      policy: five,
      whenUnavailable: byWindow,
    })
    const decision = await consume()
    await world.time.advance(11_000)
    expect(await passed(5)).toBe(2)
    await settled(limiter.refund(decision))
    expect(await passed(5)).toBe(0)
  })

  test('settle and penalty charge it', async () => {
    const { settled, limiter, consume, passed, world } = await inOutage()
    await settled(limiter.settle(await consume(), 2))
    expect(await passed(5)).toBe(0)
    await settled(limiter.penalty('abuser', { cost: 5 }))
    expect(await passed(5, 'abuser')).toBe(0)
    await isBack(world)
    expect(usedIn(world, five)).toBe(2)
    expect(usedIn(world, five, 'abuser')).toBe(5)
  })

  test('a wait for a turn of a bucket is allowed or denied at once', async () => {
    const bucket = leakyBucket({ name: 'p', capacity: 1, leak: 10, every: '1s', maxWait: '1m' })
    const { settled, limiter } = await inOutage({
      policy: bucket,
      whenUnavailable: tokenBucket({ capacity: 1, refill: 1, every: '1m' }),
    })
    expect(await settled(limiter.wait('u42'))).toMatchObject({ allowed: true })
    expect(await settled(limiter.wait('u42'))).toMatchObject({ allowed: false })
  })

  test('a policy key is used, and other policies of the decision have their own way', async () => {
    const address = slidingLog({ name: 'address', limit: 30, window: '15m' })
    const { consume, passed, world } = await inOutage({
      policy: [
        { policy: five, whenUnavailable: two, key: 'account' },
        { policy: address, whenUnavailable: 'local' },
      ],
    })
    expect(await passed(2, 'a')).toBe(2)
    const denied = await consume('b')
    expect(denied).toMatchObject({ allowed: false, policy: { name: 'log-ins' } })
    expect(denied.policies[1]).toMatchObject({ policy: address, remaining: 30 })
    await isBack(world)
    expect(usedIn(world, five, 'account')).toBe(3)
    expect((await consume('a')).policies).toMatchObject([{ remaining: 1 }, { remaining: 27 }])
  })
})

test('policies that differ in nothing else each have their own way', async () => {
  const world = shared()
  const one = processOf(world, { policy: five })
  world.isAway = true
  const allowedBy = async (whenUnavailable: WhenUnavailable): Promise<number> => {
    let allowed = 0
    for (let i = 0; i < 9; i += 1) {
      const policy = [{ policy: five, whenUnavailable }]
      if ((await one.consume('u42', { policy })).allowed) allowed += 1
    }
    return allowed
  }
  expect(await allowedBy(two)).toBe(2)
  expect(await allowedBy(slidingLog({ limit: 3, window: '2m' }))).toBe(3)
  expect(await allowedBy('local')).toBe(5)
  expect(await allowedBy('deny')).toBe(0)
  await one.store.close()
})

test('for a store, it applies to all policies without their own', async () => {
  const time = virtualTime()
  const users: Store = { decide: () => Promise.reject(new Error('away')), reset() {} }
  const store = resilientIn(time, users, { whenUnavailable: two })
  const limiter = new RateLimiter({ name: 'login', store, policy: five })
  const allowed = []
  for (let i = 0; i < 5; i += 1) allowed.push((await time.settle(limiter.consume('k'))).allowed)
  expect(allowed).toEqual([true, true, false, false, false])
  await time.advance(11_000)
  expect(process.emitWarning).toHaveBeenCalledWith(
    expect.stringContaining(`with whenUnavailable "${two.name}"`),
    expect.anything(),
  )
  await store.close()
})

test('a policy as data has none, since it is an option in code', () => {
  const data = { algorithm: 'sliding-log', limit: 5, window: '15m', whenUnavailable: 'local' }
  const refused = expect.objectContaining({ code: 'WEIR_INVALID_POLICY' })
  expect(() => policyFrom(data)).toThrow(refused)
  expect(() => policyFrom(JSON.stringify(data))).toThrow(refused)
})

describe('is refused at construction', () => {
  const refused = expect.objectContaining({ code: 'WEIR_INVALID_OPTION' })
  test.each<[string, unknown]>([
    ['unlimited()', unlimited()],
    ['what looks like a policy', { name: 'p', limit: 5 }],
    ['a policy with a key', { policy: two, key: 'k' }],
    ['several policies', [two]],
    ['another word', 'locally'],
  ])('%s', (_, bad) => {
    const whenUnavailable = bad as WhenUnavailable
    const store = resilient(memoryIn(virtualTime()))
    expect(() => new RateLimiter({ store, policy: five, whenUnavailable })).toThrow(refused)
    expect(() => new RateLimiter({ store, policy: [{ policy: five, whenUnavailable }] })).toThrow(
      refused,
    )
    expect(() => resilient(store, { whenUnavailable })).toThrow(refused)
    expect(() => redisStore({} as never, { whenUnavailable })).toThrow(refused)
  })
})
