// What was admitted without the store is counted in it before the store decides anything by the
// same counters, in virtual time.

import { describe, expect, test } from 'vitest'
import { budget, fixedWindow, leakyBucket, RateLimiter, slidingLog } from '../../../src/index.js'
import { BEAT_SET } from '../../../src/layers/resilience/canary.js'
import { resilientIn } from '../../../src/layers/resilience/resilient.js'
import { makePolicySet } from '../../../src/request.js'
import type { PolicySet, Store, StoreRequest, StoreResult, Target } from '../../../src/store.js'
import { unitFactories } from '../../unit-factories.js'
import { virtualTime } from '../../virtual-time.js'
import { consuming, memoryIn } from '../requests.js'

/** `held`: the reply comes when `release` is called. `foreign, late`: the key cannot be decided. */
type Fault = 'none' | 'lost' | 'silent' | 'reply lost' | 'held' | 'foreign, late'

/** A store that recovers, and faults on the way to it. */
function worldOf() {
  const time = virtualTime()
  const asked: StoreRequest[] = []
  const held: (() => void)[] = []
  const world = { fault: 'none' as Fault, time, memory: memoryIn(time), asked }
  const users: Store = {
    recovers: true,
    reserves: true,
    async decide(request) {
      asked.push(request)
      const { fault } = world
      if (fault === 'lost') throw new Error('Connection is closed.')
      if (fault === 'silent') return new Promise(() => {})
      if (fault === 'foreign, late') {
        await new Promise<void>((resolve) => time.after(40, resolve))
        throw new Error('WRONGTYPE Operation against a key')
      }
      const result = world.memory.decide(request)
      await Promise.resolve()
      if (fault === 'held') await new Promise<void>((resolve) => held.push(resolve))
      if (fault === 'reply lost') throw new Error('Connection is closed.')
      return result
    },
    async reset(target) {
      if (world.fault === 'lost') throw new Error('Connection is closed.')
      world.memory.reset(target)
    },
  }
  const store = resilientIn(time, users, { deadlineMs: 100 })
  const decide = (request: StoreRequest): Promise<StoreResult> =>
    time.settle(Promise.resolve(store.decide(request)))
  const consume = async (target: Target, cost = 1, fault: Fault = 'none'): Promise<number> => {
    world.fault = fault
    const costs = target.policySet.policies.map(() => cost)
    const { granted } = await decide({ mode: 'consume', target, costs, count: 1 })
    world.fault = 'none'
    return granted * cost
  }
  const modes = (): string[] => asked.splice(0).map(modeOf)
  const release = (): void => {
    for (const reply of held.splice(0)) reply()
  }
  return Object.assign(world, { store, decide, consume, modes, release })
}

function modeOf({ mode, target }: StoreRequest): string {
  return target.policySet === BEAT_SET ? 'beat' : mode
}

function on(policySet: PolicySet, key = 'k', policyKeys?: Target['policyKeys']): Target {
  return { policySet, key, policyKeys }
}

test.each(Object.entries(unitFactories))(
  'a failure gives no new budget under another limit with the same time scale: %s',
  async (_, { of: make }) => {
    const { consume } = worldOf()
    const [small, large] = [40, 80].map((limit) =>
      on(makePolicySet('p', [make(limit, 3_600_000, 'p')])),
    )
    expect(await consume(small as Target, 40, 'lost')).toBe(40)
    let passed = 0
    for (let i = 0; i < 80; i += 1) passed += await consume(large as Target)
    // A full bucket is full, whatever its size; in a window, units are counted.
    expect(passed).toBeLessThanOrEqual(40)
    expect(await consume(small as Target)).toBe(0)
  },
)

describe('what was admitted without the store', () => {
  const policySet = makePolicySet('p', [fixedWindow({ limit: 10, window: '1h' })])
  const queue = makePolicySet('q', [
    leakyBucket({ capacity: 1, leak: 10, every: '1s', maxWait: '1m' }),
  ])
  const request = consuming(policySet, 'k')

  test.each<[string, StoreRequest]>([
    ['consume', request],
    ['consume up to', { ...request, count: 5, atLeast: 1 }],
    ['consume of a class', { ...request, keep: [3] }],
    ['wait', { ...consuming(queue, 'k'), atLeast: 1, maxWaitMs: 1_000 }],
    ['peek', { ...request, mode: 'peek' }],
    ['penalty', { ...request, mode: 'penalty' }],
    ['refund', { ...request, mode: 'refund' }],
    ['cancel', { ...request, mode: 'cancel' }],
    ['settle', { ...request, mode: 'settle' }],
  ])('is counted before a %s', async (_, next) => {
    const { decide, consume, modes } = worldOf()
    await consume(next.target, 1, 'lost')
    modes()
    await decide(next)
    expect(modes()).toEqual(['beat', 'restore', 'reconcile', next.mode])
    await decide(next)
    expect(modes()).toEqual([next.mode])
  })

  test('is counted after what was last seen is restored', async () => {
    const world = worldOf()
    const { consume, modes, time } = world
    const target = on(policySet)
    for (let i = 0; i < 5; i += 1) await consume(target)
    await consume(target, 3, 'lost')
    await time.advance(1)
    world.memory = memoryIn(time)
    modes()
    let passed = 0
    for (let i = 0; i < 10; i += 1) passed += await consume(target)
    expect(modes().slice(0, 4)).toEqual(['beat', 'restore', 'reconcile', 'consume'])
    expect(passed).toBeLessThanOrEqual(7)
  })

  test("is counted before another user's request under the same policy key", async () => {
    const { consume } = worldOf()
    const two = makePolicySet('p', [
      fixedWindow({ name: 'user', limit: 10, window: '1h' }),
      fixedWindow({ name: 'all', limit: 20, window: '1h' }),
    ])
    const all = [undefined, { key: 'all', tag: 'all' }]
    let passed = 0
    for (const user of ['a', 'b', 'c']) passed += await consume(on(two, user, all), 5, 'lost')
    for (let i = 0; i < 20; i += 1) passed += await consume(on(two, `u${i}`, all))
    expect(passed).toBe(20)
  })

  test('delays no request that does not read the same counters', async () => {
    const { consume, modes, store } = worldOf()
    await consume(on(policySet, 'a'), 1, 'lost')
    modes()
    await consume(on(policySet, 'b'))
    await consume(on(makePolicySet('other', policySet.policies), 'a'))
    expect(modes()).toEqual(['beat', 'consume', 'consume'])
    expect(store.health().localKeys).toBe(1)
  })

  test('is counted once for all requests at a time, which are then asked in their order', async () => {
    const { consume, store, time, modes, asked } = worldOf()
    await consume(on(policySet), 1, 'lost')
    modes()
    const costs = [1, 2, 3, 4]
    const all = costs.map((cost) => store.decide({ ...request, costs: [cost] }))
    await time.settle(Promise.all(all))
    expect(asked.map(modeOf)).toEqual([
      'beat',
      'restore',
      'reconcile',
      ...costs.map(() => 'consume'),
    ])
    expect(asked.slice(3).map(({ costs }) => costs[0])).toEqual(costs)
  })

  test('is counted before a reset, which also forgets it', async () => {
    const { consume, store, time, modes } = worldOf()
    const target = on(policySet)
    await consume(target, 10, 'lost')
    modes()
    await time.settle(Promise.resolve(store.reset(target)))
    expect(store.health().localKeys).toBe(0)
    expect(await consume(target, 10)).toBe(10)
    expect(modes()).toEqual(['beat', 'restore', 'reconcile', 'consume'])
  })

  test('is counted after a reset that failed', async () => {
    const world = worldOf()
    const { consume, store, time } = world
    const target = on(policySet)
    await consume(target, 4)
    await consume(target, 5, 'lost')
    world.fault = 'lost'
    await expect(time.settle(Promise.resolve(store.reset(target)))).rejects.toThrow()
    expect(await consume(target, 2, 'lost')).toBe(0)
    expect(await consume(target, 2)).toBe(0)
    expect(await consume(target, 1)).toBe(1)
  })

  test('is not counted after a reset that was requested before the count', async () => {
    const { consume, store, time, memory } = worldOf()
    const target = on(policySet)
    await consume(target, 9, 'lost')
    const asked = store.decide(request)
    await time.settle(Promise.all([asked, store.reset(target)]))
    const [{ remaining } = { remaining: -1 }] = memory.decide({ ...request, mode: 'peek' }).policies
    expect(remaining).toBeGreaterThanOrEqual(9)
  })

  test('is refunded where it was admitted, until it is counted', async () => {
    const { consume, decide, store } = worldOf()
    const target = on(policySet)
    await consume(target, 4)
    expect(await consume(target, 6, 'lost')).toBe(6)
    await decide({ mode: 'refund', target, costs: [6], count: 1 })
    let passed = 0
    for (let i = 0; i < 10; i += 1) passed += await consume(target)
    expect(passed).toBe(6)
    expect(store.health().localKeys).toBe(0)
  })

  test('need not be counted any more after a late reply has counted it', async () => {
    const world = worldOf()
    const { consume, store, time, release } = world
    // The background count is due while a request is about to have it counted.
    time.random = () => 0.1
    expect(await consume(on(policySet), 1, 'held')).toBe(1)
    expect(store.health().localKeys).toBe(1)
    world.fault = 'held'
    const next = store.decide(request)
    await time.advance(60)
    world.fault = 'none'
    release()
    await time.settle(Promise.resolve(next))
    await time.advance(10_000)
    expect(store.health()).toMatchObject({ state: 'closed', localKeys: 0 })
  })

  test('is spent, though a late reply says that the store holds it as an estimate', async () => {
    const { consume, store, time, memory, release } = worldOf()
    const budgets = makePolicySet('p', [budget({ limit: 10, holdTimeout: '1m' })])
    expect(await consume(on(budgets), 4, 'held')).toBe(4)
    release()
    await time.advance(90_000)
    expect(store.health()).toMatchObject({ state: 'closed', localKeys: 0 })
    const { policies } = memory.decide({ ...consuming(budgets, 'k'), mode: 'peek' })
    expect(policies[0]?.remaining).toBe(6)
  })

  test("is not given back where 'allow' has counted nothing", async () => {
    const world = worldOf()
    const { decide, memory, store } = world
    const target = on(makePolicySet('p', [budget({ limit: 10, holdTimeout: '1m' })], ['allow']))
    await decide({ mode: 'penalty', target, costs: [4], count: 1 })
    world.fault = 'lost'
    const charged = await decide({ mode: 'consume', target, costs: [3], count: 1 })
    world.fault = 'none'
    const { untilUs, nowUs: seenUs } = charged
    await decide({ mode: 'refund', target, costs: [3], count: 1, untilUs, seenUs })
    const peek = { ...consuming(target.policySet, 'k'), mode: 'peek' } as const
    expect([charged.granted, memory.decide(peek).policies[0]?.remaining]).toEqual([1, 6])
    expect(store.health().localKeys).toBe(0)
  })

  test('is given back by its own time, and takes nothing of an estimate that the store holds', async () => {
    const world = worldOf()
    const { consume, decide, time, memory } = world
    const budgets = makePolicySet('p', [budget({ limit: 10, holdTimeout: '1m' })])
    const target = on(budgets)
    const left = () =>
      memory.decide({ ...consuming(budgets, 'k'), mode: 'peek' }).policies[0]?.remaining
    // So that both times are in one sixtieth of a minute.
    await time.advance(300)
    expect(await consume(target, 4)).toBe(4)
    world.fault = 'lost'
    const { untilUs, nowUs } = await decide({ mode: 'consume', target, costs: [3], count: 1 })
    world.fault = 'none'
    await decide({ mode: 'refund', target, costs: [3], count: 1, untilUs, seenUs: nowUs })
    expect(left()).toBe(6)
    await time.advance(90_000)
    expect(left()).toBe(10)
  })

  test('is given back by a refund, though the store holds it as an estimate', async () => {
    const time = virtualTime()
    const memory = memoryIn(time)
    const world = { isSlow: true }
    const users: Store = {
      recovers: true,
      async decide(request) {
        const result = memory.decide(request)
        if (world.isSlow) await new Promise<void>((resolve) => time.after(150, resolve))
        return result
      },
      async reset(target) {
        memory.reset(target)
      },
    }
    const store = resilientIn(time, users, { deadlineMs: 100 })
    const policy = budget({ limit: 10, holdTimeout: '1m' })
    const limiter = new RateLimiter({ name: 'p', policy, store })
    // So that both times of the estimate are in one sixtieth of its minute.
    await time.advance(300)
    const decision = await time.settle(limiter.consume('k', { cost: 4 }))
    expect(decision).toMatchObject({ allowed: true, degraded: true })
    world.isSlow = false
    await time.advance(10_000)
    await time.settle(limiter.refund(decision))
    await time.advance(90_000)
    const { policies } = await time.settle(limiter.peek('k'))
    expect(policies[0]?.remaining).toBe(10)
  })

  test('is no longer in health() after the store says that it cannot count the key', async () => {
    const world = worldOf()
    const { consume, store, time } = world
    // The background count is due while a request is about to have it counted.
    time.random = () => 0.1
    expect(await consume(on(policySet), 1, 'lost')).toBe(1)
    world.fault = 'foreign, late'
    const next = store.decide(request)
    await time.advance(60)
    world.fault = 'none'
    await time.settle(Promise.resolve(next))
    await time.advance(10_000)
    expect(store.health()).toMatchObject({ state: 'closed', localKeys: 0 })
  })

  test('does not make a decision exceed its deadline', async () => {
    const { consume, time, store } = worldOf()
    const target = on(policySet)
    await consume(target, 1, 'lost')
    const beforeMs = time.nowMs()
    expect(await consume(target, 1, 'silent')).toBe(1)
    expect(time.nowMs() - beforeMs).toBe(100)
    for (let i = 0; i < 20; i += 1) await consume(target, 1, 'silent')
    // Each one that was not answered in time is a failure of the node.
    expect(store.health().nodes[0]?.state).toBe('open')
    expect(time.nowMs() - beforeMs).toBeLessThanOrEqual(500)
  })
})

describe('a refund', () => {
  const policySet = makePolicySet('p', [slidingLog({ limit: 10, window: '1h' })])
  const target = on(policySet)

  test.each(['refund', 'cancel'] as const)(
    'whose reply is lost is not repeated: %s',
    async (mode) => {
      const world = worldOf()
      const { consume, store, time } = world
      let used = await consume(target, 6)
      world.fault = 'reply lost'
      const refund = store.decide({ mode, target, costs: [5], count: 1 })
      world.fault = 'lost'
      const local = store.decide({ mode: 'consume', target, costs: [4], count: 1 })
      await time.settle(Promise.all([refund, local]))
      used += (await local).granted * 4 - 5
      for (let i = 0; i < 20; i += 1) used += await consume(target)
      expect(used).toBeLessThanOrEqual(10)
    },
  )
})
