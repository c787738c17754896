// Each decision is counted once, whichever layer makes it: in virtual time, with a Cluster of two
// nodes that go away and come back.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  type Decision,
  fixedWindow,
  RateLimiter,
  slidingLog,
  tokenBucket,
} from '../../src/index.js'
import { ALONE } from '../../src/layers/resilience/peers.js'
import { layeredStore } from '../../src/layers/resilience/resilient.js'
import { layersOver } from '../../src/redis/store.js'
import { randomFrom, virtualTime } from '../virtual-time.js'
import { fakeCluster } from './fake-nodes.js'

beforeEach(() => {
  vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
})
afterEach(() => {
  vi.restoreAllMocks()
})

function worldOf(seed: number) {
  const time = virtualTime(seed)
  const cluster = fakeCluster(time)
  const options = {
    clock: undefined,
    deadlineMs: 100,
    whenUnavailable: 'local',
    maxLocalKeys: 1_000,
    denyCache: true,
    leases: { units: 100, holdMs: 50 },
    log: undefined,
  } as const
  const backend = { ...cluster.backend, peers: () => ALONE, slotsOf: cluster.slotsOf }
  const { first, resilience, leases } = layersOver(backend, options, time)
  const store = layeredStore(first, resilience, {
    local: false,
    reserves: true,
    async close() {
      leases?.close()
      resilience.close()
    },
  })
  return { time, cluster, store }
}

/** What decided, according to the decision. */
function rowOf({ allowed, source, degraded }: Decision): string {
  expect(degraded).toBe(source === 'local')
  return `${allowed ? 'allowed' : 'denied'} ${source}`
}

test.each([1, 2, 3])(
  'under the source that the decision names, in a random walk (%i)',
  async (seed) => {
    const { time, cluster, store } = worldOf(seed)
    const random = randomFrom(seed)
    const window = '1h'
    const limiters = [
      new RateLimiter({ name: 'hot', store, policy: slidingLog({ limit: 5_000, window }) }),
      new RateLimiter({ name: 'few', store, policy: fixedWindow({ limit: 30, window }) }),
      new RateLimiter({
        name: 'pairs',
        store,
        policy: [
          fixedWindow({ name: 'address', limit: 60, window }),
          { policy: fixedWindow({ name: 'account', limit: 90, window }), key: 'acme' },
        ],
      }),
      new RateLimiter({
        name: 'strict',
        store,
        whenUnavailable: 'throw',
        policy: fixedWindow({ limit: 400, window }),
      }),
      new RateLimiter({
        name: 'classes',
        store,
        reserve: { low: 0.5 },
        policy: fixedWindow({ limit: 40, window: 'month' }),
      }),
      new RateLimiter({
        name: 'turns',
        store,
        policy: tokenBucket({ capacity: 40, refill: 1, every: '1h', maxWait: '2h' }),
      }),
    ]
    const expected = new Map<RateLimiter, Record<string, number>>()
    const taken = new Map<RateLimiter, number>()
    for (const limiter of limiters) expected.set(limiter, {})

    /** Calls a random method. Returns what it took. */
    async function ask(
      limiter: RateLimiter,
      key: string,
      cost: number,
    ): Promise<[Decision, number]> {
      const priority = limiter.name === 'classes' && random() < 0.5 ? 'low' : undefined
      const chance = limiter.name === 'hot' ? 1 : random()
      if (chance < 0.15) {
        const decision = await limiter.consumeUpTo(key, 1 + cost, { priority })
        return [decision, decision.granted]
      }
      if (chance < 0.3) {
        const decision = await limiter.wait(key, { cost, priority, timeout: 0 })
        return [decision, decision.allowed ? cost : 0]
      }
      if (chance < 0.4) await limiter.peek(key, { cost, priority }).catch(() => {})
      const decision = await limiter.consume(key, { cost, priority })
      return [decision, decision.allowed ? cost : 0]
    }

    const pending: Promise<void>[] = []
    for (let step = 0; step < 2_000; step += 1) {
      const limiter = limiters[Math.floor(random() * limiters.length)] as RateLimiter
      const key = limiter.name === 'hot' ? 'hot' : `u${Math.floor(random() * 8)}`
      const rows = expected.get(limiter) as Record<string, number>
      const add = (row: string): void => {
        rows[row] = (rows[row] ?? 0) + 1
      }
      const cost = limiter.name === 'hot' ? 1 : Math.floor(random() * 4)
      const asked = ask(limiter, key, cost)
      pending.push(
        asked.then(
          ([decision, units]) => {
            add(rowOf(decision))
            taken.set(limiter, (taken.get(limiter) ?? 0) + units)
          },
          () => add('error none'),
        ),
      )
      if (step % 10 === 0) await time.advance(random() * 20)
      const { a, b } = cluster.nodes
      if (step === 500) a.state = 'refusing'
      if (step === 700) b.state = 'silent'
      if (step === 1_100) Object.assign(a, { state: 'up' })
      if (step === 1_200) Object.assign(b, { state: 'up' })
    }
    await time.settle(Promise.all(pending))
    for (const limiter of limiters) {
      const { decisions, policies } = limiter.stats()
      const counted = decisions.filter(({ count }) => count > 0)
      const rows = counted.map(({ outcome, source, count }) => [`${outcome} ${source}`, count])
      expect(Object.fromEntries(rows)).toEqual(expected.get(limiter))
      for (const { units } of policies) expect(units.taken).toBe(taken.get(limiter))
    }
    // The walk has reached every row.
    const all = Object.assign({}, ...expected.values())
    expect(Object.keys(all).sort()).toEqual([
      'allowed lease',
      'allowed local',
      'allowed store',
      'denied cache',
      'denied local',
      'denied store',
      'error none',
    ])
    // What is reported to the store later is no decision.
    const before = limiters.map((limiter) => limiter.stats().decisions)
    await time.advance(30_000)
    await time.settle(store.close())
    expect(limiters.map((limiter) => limiter.stats().decisions)).toEqual(before)
    expect(store.stats().events.reconciled).toBeGreaterThan(0)
    expect(store.stats().unreconciled).toBe(0)
  },
)
