// Leases: a process never takes more ahead than Redis granted; units count in the windows in which
// they were spent, and the rest goes back.

import { seedOf } from '@weir/testkit'
import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  type Policy,
  RateLimiter,
  type RedisStore,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js'
import { type FakeClock, fakeClock } from '../../src/testing/index.js'
import { singleClient } from './clients.js'
import { redisStoreOf, stillStore } from './patient.js'
import { stepTime } from './step-time.js'

const client = singleClient()
const leases = { units: 50, holdMs: 1_000 }
let runs = 0
function newName(): string {
  runs += 1
  return `leases${process.pid}-${runs}`
}

/** The EVALSHAs that the server has run so far. */
async function callsSoFar(): Promise<number> {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
}

/** Waits until everything that was sent has been answered. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    await client.ping()
  }
}

interface Process {
  readonly limiter: RateLimiter
  readonly store: RedisStore
}

function processesOf(count: number, policy: Policy | Policy[], clock: FakeClock): Process[] {
  const name = newName()
  return Array.from({ length: count }, () => {
    const store = stillStore(client, { clock, leases })
    return { store, limiter: new RateLimiter({ name, store, policy, shared: true }) }
  })
}

const policies: readonly Policy[] = [
  fixedWindow({ name: 'p', limit: 400, window: '10s' }),
  slidingLog({ name: 'p', limit: 400, window: '10s' }),
  slidingWindow({ name: 'p', limit: 400, window: '10s', parts: 20 }),
  slidingCounter({ name: 'p', limit: 400, window: '10s' }),
  tokenBucket({ name: 'p', capacity: 400, refill: 400, every: '10s' }),
]

describe.each(policies)('$algorithm', (policy) => {
  test('one process gets exactly the limit, in fewer calls', async () => {
    const clock = fakeClock()
    const [process] = processesOf(1, policy, clock) as [Process]
    await process.limiter.consume('k', { cost: 100 })
    const before = await callsSoFar()
    let passed = 0
    for (let i = 0; i < 500; i += 1) if ((await process.limiter.consume('k')).allowed) passed += 1
    expect(passed).toBe(300)
    // 8 until the key is hot; then leases of 40; and 200 that are denied.
    expect((await callsSoFar()) - before).toBeLessThan(230)
    expect(await process.limiter.consume('k')).toMatchObject({ allowed: false, remaining: 0 })
    await process.store.close()
  })

  test('what is left when it is closed goes back', async () => {
    const clock = fakeClock()
    const [process, other] = processesOf(2, policy, clock) as [Process, Process]
    await process.limiter.consume('k', { cost: 100 })
    for (let i = 0; i < 20; i += 1) await process.limiter.consume('k')
    await process.store.close()
    await settle()
    expect((await other.limiter.peek('k')).remaining).toBe(280)
    await other.store.close()
  })

  test('calls that peek, refund, penalise or reset see everything that was spent', async () => {
    const clock = fakeClock()
    const [process] = processesOf(1, policy, clock) as [Process]
    const { limiter } = process
    await limiter.consume('k', { cost: 100 })
    const decisions = []
    for (let i = 0; i < 20; i += 1) decisions.push(await limiter.consume('k'))
    expect(decisions.some(({ source }) => source === 'lease')).toBe(true)
    expect(decisions.map(({ remaining }) => remaining)).toEqual(
      Array.from({ length: 20 }, (_, i) => 299 - i),
    )
    expect((await limiter.peek('k')).remaining).toBe(280)
    for (let i = 0; i < 20; i += 1) await limiter.consume('k')
    for (const decision of decisions) await limiter.refund(decision)
    expect((await limiter.peek('k')).remaining).toBe(280)
    for (let i = 0; i < 20; i += 1) await limiter.consume('k')
    expect((await limiter.penalty('k', { cost: 10 })).remaining).toBe(250)
    for (let i = 0; i < 20; i += 1) await limiter.consume('k')
    await limiter.reset('k')
    expect((await limiter.peek('k')).remaining).toBe(400)
    await process.store.close()
  })

  test('no window gives more than without leases, whoever holds units, for however long', async () => {
    const seed = seedOf(1)
    const random = generator(seed)
    const clock = fakeClock()
    const processes = processesOf(3, policy, clock)
    const spent: number[] = []
    let nowMs = 0
    for (let step = 0; step < 1_500; step += 1) {
      const { limiter } = processes[Math.floor(random() * 3)] as Process
      for (let burst = Math.floor(random() * 12); burst > 0; burst -= 1) {
        if ((await limiter.consume('k')).allowed) spent.push(nowMs)
      }
      const ms = random() < 0.05 ? Math.floor(random() * 4_000) : Math.floor(random() * 40)
      clock.advance(ms)
      nowMs += ms
    }
    await Promise.all(processes.map(({ store }) => store.close()))
    expect(spent.length).toBeGreaterThan(400)
    expect(excessOf(policy, spent), `seed ${seed}`).toBeLessThanOrEqual(0)
  })
})

describe('units that are spent late', () => {
  /** A process that has taken units ahead at 0, and one that takes everything it can. */
  async function attack(
    policy: Policy,
    warmUpMs: number,
    lateMs: number,
    thenMs: readonly number[],
    isHeld: boolean,
  ): Promise<number[]> {
    const clock = fakeClock()
    const [holder, greedy] = processesOf(2, policy, clock) as [Process, Process]
    const spent: number[] = []
    const late: number[] = []
    let nowMs = 0
    const at = (ms: number) => {
      clock.advance(ms - nowMs)
      nowMs = ms
    }
    const take = async ({ limiter }: Process, most: number) => {
      for (let i = 0; i < most; i += 1) {
        const { allowed, source } = await limiter.consume('k')
        if (!allowed) return
        spent.push(nowMs)
        late.push(...(source === 'lease' && nowMs === lateMs ? [nowMs] : []))
      }
    }
    await take(greedy, 1)
    at(warmUpMs)
    await take(holder, 20)
    at(lateMs)
    // The rest of a lease.
    await take(holder, 7)
    if (isHeld) expect(late.length).toBe(7)
    // Leases end by a timer of the store, which does not follow this clock; a peek also ends one.
    await holder.limiter.peek('k')
    await take(greedy, 1_000)
    for (const ms of thenMs) {
      at(ms)
      await take(greedy, 1_000)
    }
    for (const { store } of [holder, greedy]) await store.close()
    return spent
  }

  test.each(policies.filter(({ algorithm }) => /^sliding-(log|window)$/.test(algorithm)))(
    'counts from then on, or a window would give more: $algorithm',
    async (policy) => {
      const spent = await attack(policy, 0, 190, [10_001, 10_100, 10_189], true)
      expect(spent.filter((ms) => ms === 190).length).toBeGreaterThan(300)
      expect(worstOf(spent)).toBeLessThanOrEqual(policy.limit)
    },
  )

  test('are not spent in the next fixed window', async () => {
    const policy = fixedWindow({ name: 'p', limit: 400, window: '10s' })
    const spent = await attack(policy, 9_500, 10_100, [10_200], false)
    expect(spent.filter((ms) => ms >= 10_000).length).toBe(400)
  })

  test('are not spent when the clock has gone back', async () => {
    const policy = slidingLog({ name: 'p', limit: 400, window: '10s' })
    const spent = await attack(policy, 500, 100, [], false)
    expect(spent.length).toBe(400)
  })
})

/** The most that passed in any 10 s. */
function worstOf(spent: readonly number[]): number {
  let worst = 0
  for (let first = 0, last = 0; last < spent.length; last += 1) {
    const span = 10_000
    while ((spent[last] as number) - (spent[first] as number) >= span) first += 1
    worst = Math.max(worst, last - first + 1)
  }
  return worst
}

/** How much more passed in some time than was allowed. */
function excessOf({ algorithm, limit, kernel, unitMs }: Policy, spent: readonly number[]): number {
  if (kernel?.traits.drains !== true) {
    const isOfTwo = algorithm === 'fixed-window' || algorithm === 'sliding-counter'
    return worstOf(spent) - (isOfTwo ? 2 * limit : limit)
  }
  // The bucket's level when everything that passed is taken from it at its time.
  let used = 0
  let most = 0
  spent.forEach((ms, i) => {
    used = Math.max(0, used - (ms - (spent[i - 1] ?? 0)) / unitMs) + 1
    most = Math.max(most, used)
  })
  return Math.ceil(most - limit - 1e-6)
}

test('several policies are leased together', async () => {
  const clock = fakeClock()
  const policy = [
    slidingLog({ name: 'minute', limit: 300, window: '1m' }),
    fixedWindow({ name: 'day', limit: 500, window: '1d' }),
  ]
  const [process] = processesOf(1, policy, clock) as [Process]
  for (let i = 0; i < 40; i += 1) await process.limiter.consume('k')
  const { policies: figures } = await process.limiter.peek('k')
  expect(figures.map(({ remaining }) => remaining)).toEqual([260, 460])
  await process.store.close()
})

test('a small limit and a short window are not leased', async () => {
  const clock = fakeClock()
  for (const policy of [
    slidingLog({ limit: 15, window: '1m' }),
    slidingLog({ limit: 400, window: 249 }),
    fixedWindow({ limit: 400, window: 9 }),
    tokenBucket({ capacity: 400, refill: 400, every: 249 }),
  ]) {
    const [process] = processesOf(1, policy, clock) as [Process]
    for (let i = 0; i < 30; i += 1)
      expect((await process.limiter.consume('k')).source).toBe('store')
    await process.store.close()
  }
})

test('a lease ends by itself, and what is left goes back', async () => {
  const name = newName()
  const policy = slidingLog({ limit: 400, window: '1m' })
  const time = stepTime(() => client.ping())
  const [mine, theirs] = [{ units: 50, holdMs: 20 }, undefined].map((some) => {
    const store = redisStoreOf(time, client, { instances: 1, ...(some && { leases: some }) })
    return new RateLimiter({ name, store, policy, shared: true })
  }) as [RateLimiter, RateLimiter]
  await Promise.all(Array.from({ length: 40 }, () => mine.consume('k')))
  await mine.consume('k')
  await time.until('it is given back', async () => (await theirs.peek('k')).remaining === 359)
})

test.each([
  {},
  { units: 1, holdMs: 1 },
  { units: 10, holdMs: 4 },
  { units: 10, holdMs: 5_000 },
  null,
  5,
])('the leases %j are refused', (wrong) => {
  expect(() => redisStore(client, { leases: wrong as never })).toThrow(
    expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
  )
})

/** mulberry32 (Tommy Ettinger, public domain). */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

test.each([
  slidingLog({ name: 'p', limit: 500, window: '2s' }),
  slidingWindow({ name: 'p', limit: 500, window: '2s' }),
])('bursts and pauses left a quarter of the limit unused: $algorithm', async (policy) => {
  const clock = fakeClock()
  const store = stillStore(client, { clock, leases: { units: 100, holdMs: 50 } })
  const limiter = new RateLimiter({ name: newName(), store, policy })
  let allowed = 0
  // 240 a second of 250.
  for (let burst = 0; burst < 80; burst += 1) {
    for (let i = 0; i < 18; i += 1) if ((await limiter.consume('k')).allowed) allowed += 1
    clock.advance(75)
  }
  await store.close()
  expect(allowed).toBeGreaterThan(0.9 * 80 * 18)
})

test('a decision from a lease has the same reset time as one of the store', async () => {
  const clock = fakeClock()
  const [process] = processesOf(1, fixedWindow({ limit: 400, window: '10s' }), clock)
  const { limiter, store } = process as Process
  const first = await limiter.consume('k')
  const ends = new Set<number | undefined>()
  const sources = new Set<string>()
  for (let turn = 0; turn < 10; turn += 1) {
    const all = await Promise.all(Array.from({ length: 10 }, () => limiter.consume('k')))
    for (const { source, resetTime } of all) {
      sources.add(source)
      ends.add(resetTime?.getTime())
    }
    clock.advance(50)
  }
  expect(sources).toContain('lease')
  expect([...ends]).toEqual([first.resetTime?.getTime()])
  await store.close()
})
