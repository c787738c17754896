// While a process has the store back, its local quota is a ceiling: many stores over one memory
// store, in virtual time.

import { describe, expect, test } from 'vitest'
import { fixedWindow, leakyBucket } from '../../../src/index.js'
import { IGNORED } from '../../../src/layer.js'
import { UnderCeiling } from '../../../src/layers/resilience/ceiling.js'
import { Fallback } from '../../../src/layers/resilience/fallback.js'
import { resilientIn } from '../../../src/layers/resilience/resilient.js'
import { makePolicySet } from '../../../src/request.js'
import type {
  PolicyKey,
  PolicySet,
  Store,
  StoreRequest,
  StoreResult,
  WhenUnavailable,
} from '../../../src/store.js'
import { virtualTime } from '../../virtual-time.js'
import { consuming, memoryIn } from '../requests.js'

/** Processes that share a store, each of which may lose it. */
function worldOf(count: number, whenUnavailable: WhenUnavailable = 'local') {
  const time = virtualTime()
  const memory = memoryIn(time)
  const processes = Array.from({ length: count }, (_, rank) => {
    const asked: StoreRequest[] = []
    const process = { isAway: false, asked }
    const users: Store = {
      recovers: true,
      reserves: true,
      async decide(request) {
        if (process.isAway) throw new Error('Connection is closed.')
        if (request.target.policySet.name !== 'weir') asked.push(request)
        return memory.decide(request)
      },
      async reset(target) {
        memory.reset(target)
      },
    }
    const instances = { count, rank }
    const store = resilientIn(time, users, { deadlineMs: 100, instances, whenUnavailable })
    const decide = (request: StoreRequest): Promise<StoreResult> =>
      time.settle(Promise.resolve(store.decide(request)))
    return Object.assign(process, { store, decide })
  })
  return { time, memory, processes }
}

type Process = ReturnType<typeof worldOf>['processes'][number]

/** A process loses the store and has it back, half-open, with no request for a key in between. */
async function blip({ time }: { time: { advance(ms: number): Promise<void> } }, process: Process) {
  process.isAway = true
  const other = makePolicySet('other', [fixedWindow({ limit: 1_000, window: '1m' })])
  for (let i = 0; i < 5; i += 1) await process.decide(consuming(other, 'other'))
  process.isAway = false
  await time.advance(200)
  expect(process.store.health().state).toBe('half-open')
}

describe('while a node is half-open', () => {
  const policySet = makePolicySet('p', [fixedWindow({ limit: 20, window: '1h' })])
  const request = consuming(policySet, 'k')

  test('a local quota is a ceiling for five seconds, and the store decides beneath it', async () => {
    const world = worldOf(4)
    const [process, other] = world.processes as [Process, Process]
    await blip(world, process)
    const decisions: StoreResult[] = []
    for (let i = 0; i < 8; i += 1) decisions.push(await process.decide(request))
    expect(decisions.map(({ granted }) => granted)).toEqual([1, 1, 1, 1, 1, 0, 0, 0])
    expect(decisions.map(({ source }) => source)).toEqual([
      ...Array(5).fill('store'),
      ...Array(3).fill('local'),
    ])
    expect(decisions.map(({ policies }) => policies[0]?.remaining)).toEqual([
      4, 3, 2, 1, 0, 0, 0, 0,
    ])
    expect(decisions[7]).toMatchObject({ degraded: true, unavailableMs: undefined })
    await other.decide({ ...request, costs: [15] })
    await world.time.advance(5_000)
    expect(process.store.health().state).toBe('closed')
    expect((await process.decide(request)).granted).toBe(0)
    expect((await process.decide({ ...request, mode: 'refund', costs: [3] })).granted).toBe(1)
    expect((await process.decide(request)).granted).toBe(1)
  })

  test('a smaller grant of the store is given back beneath the ceiling', () => {
    const time = virtualTime()
    const peers = () => ({ count: 4, rank: 0 })
    const options = { clock: time, time, peers, maxLocalKeys: 100 } as const
    const fallback = new Fallback({ ...options, whenUnavailable: 'local' })
    const peek = { ...request, mode: 'peek' } as const
    const left = () => fallback.underCeiling(peek, undefined).policies[0]?.remaining
    const ask = { ...request, count: 4, atLeast: 1 }
    for (const granted of [4, 1, 0]) {
      const before = left() as number
      const result = fallback.underCeiling(peek, undefined)
      new UnderCeiling(fallback, ask, undefined, IGNORED).decided({ ...result, granted })
      expect(left()).toBe(before - granted)
      new UnderCeiling(
        fallback,
        { ...ask, mode: 'refund', costs: [granted], atLeast: undefined },
        undefined,
        IGNORED,
      ).decided(result)
    }
    expect(fallback.ledger.keys).toBe(0)
  })

  test('as many are granted at once as there are beneath it', async () => {
    const world = worldOf(4)
    const [process] = world.processes as [Process]
    await blip(world, process)
    const upTo = { ...request, count: 8, atLeast: 1 }
    expect(await process.decide(upTo)).toMatchObject({ granted: 5, source: 'store' })
    expect(await process.decide(upTo)).toMatchObject({ granted: 0, source: 'local' })
    expect(process.asked.map(({ count }) => count)).toEqual([5])
  })

  test('a turn of a bucket comes no earlier than the local quota allows', async () => {
    const world = worldOf(4)
    const [process] = world.processes as [Process]
    await blip(world, process)
    const bucket = makePolicySet('b', [
      leakyBucket({ capacity: 40, leak: 40, every: '4s', maxWait: '1m' }),
    ])
    const waiting = { ...consuming(bucket, 'k'), atLeast: 1, maxWaitMs: 10_000 }
    const turnsMs: number[] = []
    for (let i = 0; i < 14; i += 1) {
      const { granted, untilUs, nowUs } = await process.decide(waiting)
      expect(granted).toBe(1)
      turnsMs.push(Math.max(0, Math.round(((untilUs[0] as number) - nowUs) / 1_000 - 4_000)))
    }
    expect(turnsMs).toEqual([...Array(10).fill(0), 400, 800, 1_200, 1_600])
  })

  test('a peek shows the smaller figure, and refunds, penalties and settlements count beneath it', async () => {
    const world = worldOf(4)
    const [process] = world.processes as [Process]
    await blip(world, process)
    const left = async () =>
      (await process.decide({ ...request, mode: 'peek' })).policies[0]?.remaining
    expect(await left()).toBe(5)
    await process.decide({ ...request, mode: 'penalty', costs: [4] })
    expect(await left()).toBe(1)
    await process.decide({ ...request, mode: 'refund', costs: [2] })
    expect(await left()).toBe(3)
    await process.decide({ ...request, mode: 'settle', costs: [-1] })
    expect(await left()).toBe(4)
    await process.decide({ ...request, mode: 'settle', costs: [3] })
    expect(await left()).toBe(1)
  })

  test('it starts from what was last seen before the store was lost', async () => {
    const world = worldOf(4)
    const [process] = world.processes as [Process]
    await process.decide({ ...request, costs: [8] })
    await blip(world, process)
    let granted = 0
    for (let i = 0; i < 8; i += 1) granted += (await process.decide(request)).granted
    // A quarter of the 12 that were left.
    expect(granted).toBe(3)
  })

  test('a request that fails beneath it is charged once', async () => {
    const world = worldOf(4)
    const [process] = world.processes as [Process]
    await blip(world, process)
    process.isAway = true
    expect(await process.decide(request)).toMatchObject({ granted: 1, source: 'local' })
    process.isAway = false
    const peek = await process.decide({ ...request, mode: 'peek' })
    expect(peek.policies).toMatchObject([{ remaining: 4 }])
  })

  test('it leaves to others what a class must leave, and counts a wait in its own queue', async () => {
    const world = worldOf(4)
    const [process] = world.processes as [Process]
    await blip(world, process)
    // A quarter of the 8 that must remain.
    const ofClass = { ...request, keep: [8] }
    const granted = []
    for (let i = 0; i < 4; i += 1) granted.push((await process.decide(ofClass)).granted)
    expect(granted).toEqual([1, 1, 1, 0])
    const queue = makePolicySet('q', [
      leakyBucket({ capacity: 4, leak: 4, every: '1s', maxWait: '1m' }),
    ])
    const waiting = { ...consuming(queue, 'k'), atLeast: 1, maxWaitMs: 1_500 }
    const turns: StoreResult[] = []
    for (let i = 0; i < 4; i += 1) turns.push(await process.decide(waiting))
    // One at once, and then one a second, by a quarter of the rate; the turns are the store's.
    expect(turns.map(({ granted, source }) => [granted, source])).toEqual([
      [1, 'store'],
      [1, 'store'],
      [0, 'local'],
      [0, 'local'],
    ])
  })

  test('a policy key has a ceiling, whoever uses it', async () => {
    const world = worldOf(4)
    const [process] = world.processes as [Process]
    const two = makePolicySet('p', [
      fixedWindow({ name: 'user', limit: 100, window: '1h' }),
      fixedWindow({ name: 'all', limit: 12, window: '1h' }),
    ])
    const policyKeys: (PolicyKey | undefined)[] = [undefined, { key: 'all', tag: 'all' }]
    await blip(world, process)
    let granted = 0
    for (let i = 0; i < 10; i += 1) {
      const target = { policySet: two, key: `u${i}`, policyKeys }
      granted += (await process.decide({ ...request, target, costs: [1, 1] })).granted
    }
    expect(granted).toBe(3)
  })

  test.each<[string, number, PolicySet, WhenUnavailable?]>([
    ['one process', 1, policySet],
    ['a quota of 0', 30, policySet],
    ['a policy that is not local', 4, makePolicySet('p', policySet.policies, ['allow'])],
    ['one that denies', 4, policySet, 'deny'],
  ])('%s has no ceiling', async (_, count, ofProcess, whenUnavailable) => {
    const world = worldOf(count, whenUnavailable)
    const process = world.processes.at(-1) as Process
    await blip(world, process)
    let granted = 0
    for (let i = 0; i < 30; i += 1)
      granted += (await process.decide(consuming(ofProcess, 'k'))).granted
    expect(granted).toBe(20)
  })
})
