// Classes of requests while the store is away: a process's part of a limit has its part of what is
// left to others, and what was seen for a class shows what is left to all.

import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Policy, RateLimiter } from '../../../src/index.js'
import { Fallback } from '../../../src/layers/resilience/fallback.js'
import { resilientIn } from '../../../src/layers/resilience/resilient.js'
import { makePolicySet } from '../../../src/request.js'
import type { Store } from '../../../src/store.js'
import { unitFactories } from '../../unit-factories.js'
import { virtualTime } from '../../virtual-time.js'
import { memoryIn } from '../requests.js'

const LIMIT = 100
const away = new Error('away')
const factories = Object.entries(unitFactories).map(([name, { of }]) => {
  return [name, (limit: number): Policy => of(limit, 60_000)] as const
})

test.each(factories)('all processes together leave what a class must leave: %s', (_, of) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.nat(50),
      fc.integer({ min: 1, max: 7 }),
      (limit, some, count) => {
        const kept = Math.min(some, limit)
        const target = { policySet: makePolicySet('p', [of(limit)]), key: 'k' }
        let [lower, higher] = [0, 0]
        for (let rank = 0; rank < count; rank += 1) {
          const peers = () => ({ count, rank })
          const time = virtualTime()
          const when = { whenUnavailable: 'local', maxLocalKeys: 1_000 } as const
          const fallback = new Fallback({ clock: time, peers, time, ...when })
          const take = (keep: number[]) => {
            const request = { mode: 'consume', target, costs: [1], count: 100, keep } as const
            return fallback.decide(request, undefined, away, 1_000).granted
          }
          lower += take([kept])
          higher += take([0])
          fallback.close()
        }
        expect(lower).toBeLessThanOrEqual(limit - kept)
        // Each process rounds up by less than a unit.
        expect(lower).toBeGreaterThanOrEqual(limit - kept - count)
        expect(lower + higher).toBe(limit)
      },
    ),
    { numRuns: 60 },
  )
})

test('a class for which a part is too small may come again; one that can never pass may not', () => {
  const time = virtualTime()
  const peers = () => ({ count: 10, rank: 0 })
  const fallback = new Fallback({
    clock: time,
    peers,
    time,
    whenUnavailable: 'local',
    maxLocalKeys: 1_000,
  })
  const [, of] = factories[0] as (typeof factories)[number]
  const target = { policySet: makePolicySet('p', [of(10)]), key: 'k' }
  const waitOf = (keep: number[]) => {
    const request = { mode: 'consume', target, costs: [1], count: 1, keep } as const
    const { granted, policies } = fallback.decide(request, undefined, away, 1_000)
    expect(granted).toBe(0)
    return policies[0]?.retryAfterMs as number
  }
  expect(waitOf([5])).toBeGreaterThanOrEqual(1_000)
  expect(waitOf([5])).toBeLessThan(Number.POSITIVE_INFINITY)
  expect(waitOf([10])).toBe(Number.POSITIVE_INFINITY)
  fallback.close()
})

/** A process on a store that can be taken away, and another one that stays on it. */
function worldOf(policy: Policy) {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
  onTestFinished(() => warn.mockRestore())
  const time = virtualTime()
  const world = { isAway: false, memory: memoryIn(time) }
  const users: Store = {
    recovers: true,
    decide(request) {
      if (world.isAway) throw away
      return world.memory.decide(request)
    },
    async reset() {},
  }
  const settings = { name: 'p', policy, reserve: { normal: 0.2, batch: 0.5 }, shared: true }
  const limiter = new RateLimiter({ ...settings, store: resilientIn(time, users, {}) })
  const other = new RateLimiter({ ...settings, store: world.memory })
  async function passed(of: RateLimiter, count: number, priority: string): Promise<number> {
    let sum = 0
    for (let i = 0; i < count; i += 1) {
      const { allowed } = await time.settle(of.consume('k', { priority }))
      if (allowed) sum += 1
    }
    return sum
  }
  return { world, time, limiter, other, passed }
}

test.each(factories)('an outage gives no class more than was left to it: %s', async (_, of) => {
  const { world, limiter, passed } = worldOf(of(LIMIT))
  expect(await passed(limiter, 60, 'batch')).toBe(50)
  world.isAway = true
  expect(await passed(limiter, 20, 'batch')).toBe(0)
  expect(await passed(limiter, 40, 'normal')).toBe(30)
  expect(await passed(limiter, 40, 'critical')).toBe(20)
})

test.each(factories)('what others took also shows in a denied class: %s', async (_, of) => {
  const { world, limiter, other, passed } = worldOf(of(LIMIT))
  expect(await passed(limiter, 10, 'batch')).toBe(10)
  expect(await passed(other, 70, 'critical')).toBe(70)
  expect(await passed(limiter, 1, 'batch')).toBe(0)
  world.isAway = true
  // At most what the class would have left.
  expect(await passed(limiter, 100, 'critical')).toBeLessThanOrEqual(50)
})

test.each(factories)(
  'a denied class does not hide what higher ones have used: %s',
  async (_, of) => {
    const { world, limiter, passed } = worldOf(of(LIMIT))
    expect(await passed(limiter, 95, 'critical')).toBe(95)
    expect(await passed(limiter, 3, 'batch')).toBe(0)
    world.isAway = true
    expect(await passed(limiter, 20, 'critical')).toBe(5)
  },
)

test('what was lost is restored from what a class was told', async () => {
  const [, of] = factories.find(([name]) => name === 'fixedWindow') as (typeof factories)[number]
  const { world, limiter, time, passed } = worldOf(of(LIMIT))
  expect(await passed(limiter, 40, 'batch')).toBe(40)
  world.memory = memoryIn(time)
  // The grant that shows the loss stands.
  expect(await passed(limiter, 1, 'batch')).toBe(1)
  expect(await passed(limiter, 100, 'batch')).toBeLessThanOrEqual(10)
  expect(await passed(limiter, 100, 'critical')).toBe(50)
})
