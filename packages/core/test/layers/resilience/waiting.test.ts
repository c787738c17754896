// Waiting and settling while a store is slow, silent or away, in virtual time.

import { describe, expect, test, vi } from 'vitest'
import { budget, fixedWindow, leakyBucket, slidingLog } from '../../../src/index.js'
import { layerOf } from '../../../src/layer.js'
import { resilientIn } from '../../../src/layers/resilience/resilient.js'
import { waitingOf } from '../../../src/limiter/waiting.js'
import { makePolicySet } from '../../../src/request.js'
import type { PolicySet, Store, StoreRequest, StoreResult } from '../../../src/store.js'
import { virtualTime } from '../../virtual-time.js'
import { memoryIn } from '../requests.js'

const QUEUE = makePolicySet('queue', [
  leakyBucket({ capacity: 1, leak: 10, every: '1s', maxWait: '1m' }),
])
const LOG = makePolicySet('log', [slidingLog({ limit: 10, window: '1h' })])

function world(deadlineMs = 100) {
  vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
  const time = virtualTime()
  const memory = memoryIn(time)
  const asked: StoreRequest[] = []
  const state = { time, memory, asked, latencyMs: 2, isAway: false }
  const users: Store = {
    recovers: true,
    reserves: true,
    async decide(request) {
      if (request.target.policySet.name !== 'weir') asked.push(request)
      const { isAway, latencyMs } = state
      const result = isAway ? undefined : memory.decide(request)
      await new Promise<void>((resolve) => void time.after(latencyMs, resolve))
      if (result === undefined) throw new Error('away')
      return result
    },
    async reset() {},
  }
  const store = resilientIn(time, users, { deadlineMs })
  const layer = layerOf(store)
  const maxWaiting = { perKey: 100, total: 100 }
  const waiting = waitingOf({ layer, time, maxWaiting, reserves: true })
  const wait = (policySet: PolicySet, signal?: AbortSignal, cost = 1) =>
    waiting.wait({
      request: {
        mode: 'consume',
        target: { policySet, key: 'k' },
        costs: [cost],
        count: 1,
        atLeast: 1,
      },
      timeoutMs: 60_000,
      signal,
    })
  const used = (policySet: PolicySet): number => {
    const target = { policySet, key: 'k' }
    const [policy] = memory.decide({ mode: 'peek', target, costs: [0], count: 1 }).policies
    return (policy?.limit as number) - (policy?.remaining as number)
  }
  const decide = (request: StoreRequest): Promise<StoreResult> =>
    time.settle(Promise.resolve(store.decide(request)))
  return { ...state, state, store, wait, used, decide }
}

describe('waiting', () => {
  test('continues in the local quota when the store does not answer in time, and ends', async () => {
    const { state, time, wait } = world()
    state.latencyMs = 5_000
    const [first, second] = [wait(QUEUE), wait(QUEUE)]
    expect(await time.settle(first)).toMatchObject({
      result: { granted: 1, degraded: true },
      waitedMs: 100,
    })
    const { waitedMs } = await time.settle(second)
    expect(waitedMs).toBe(200)
  })

  test('whose replies come too late together are all cancelled in the store', async () => {
    const { state, time, memory, wait } = world()
    const target = { policySet: QUEUE, key: 'k' }
    state.latencyMs = 150
    const all = [1, 2, 3].map(() => wait(QUEUE))
    await time.advance(140)
    const inLineMs = () => {
      const { untilUs, nowUs } = memory.decide({ mode: 'peek', target, costs: [0], count: 1 })
      return ((untilUs[0] as number) - nowUs) / 1_000
    }
    expect(inLineMs()).toBeGreaterThan(100)
    state.latencyMs = 2
    await time.advance(20)
    expect(inLineMs()).toBeLessThanOrEqual(0)
    await time.settle(Promise.all(all))
  })

  test('that ends early while the store is away changes no local quota', async () => {
    const { state, time, asked, wait } = world()
    await time.settle(wait(QUEUE))
    const controller = new AbortController()
    const second = wait(QUEUE, controller.signal)
    await time.advance(10)
    state.isAway = true
    const rejected = expect(second).rejects.toThrow()
    controller.abort()
    await time.advance(10)
    await rejected
    expect(asked.at(-1)?.mode).toBe('cancel')
  })

  test('for a window ends in time through an outage, and never admits more than the limit', async () => {
    const { state, time, wait, used } = world()
    const some = Array.from({ length: 6 }, () => wait(LOG))
    await time.settle(Promise.all(some))
    state.isAway = true
    const others = Array.from({ length: 4 }, () => wait(LOG))
    const results = await time.settle(Promise.all(others))
    expect(results.every(({ result }) => result?.granted === 1)).toBe(true)
    state.isAway = false
    await time.advance(5_000)
    expect(used(LOG)).toBe(10)
  })
})

describe('settling', () => {
  const target = { policySet: LOG, key: 'k' }
  const consume = { mode: 'consume', target, costs: [4], count: 1 } as const

  test('while the store is away is charged here, and counted in the store afterwards', async () => {
    const { state, time, decide, used } = world()
    const { untilUs, nowUs: seenUs } = await decide(consume)
    state.isAway = true
    const settle = { ...consume, mode: 'settle', untilUs, seenUs } as const
    const result = await decide({ ...settle, costs: [3] })
    expect(result).toMatchObject({ granted: 1, degraded: true })
    expect(result.policies[0]?.remaining).toBe(3)
    state.isAway = false
    await time.advance(5_000)
    expect(used(LOG)).toBe(7)
  })

  test('that the store does, and reports too late, is not repeated', async () => {
    const { state, time, decide, used } = world()
    const { untilUs, nowUs: seenUs } = await decide(consume)
    state.latencyMs = 200
    const settle = { ...consume, mode: 'settle', untilUs, seenUs } as const
    await decide({ ...settle, costs: [3] })
    state.latencyMs = 2
    await time.advance(5_000)
    expect(used(LOG)).toBe(7)
  })

  test('of what a budget holds is asked again until the store has made it, and then no more', async () => {
    const { state, time, decide, asked, used } = world()
    const policy = budget({ name: 'b', limit: 20, holdTimeout: '10s', forgetAfter: '1h' })
    const policySet = makePolicySet('budget', [policy])
    const one = { ...consume, target: { policySet, key: 'k' } } as const
    const first = await decide(one)
    await time.advance(1_000)
    const second = await decide(one)
    await time.advance(1_000)
    const third = await decide(one)
    const settle = (of: StoreResult, actual: number) => {
      const { untilUs, nowUs: seenUs } = of
      const costs = [actual - 4]
      return decide({
        ...one,
        mode: 'settle',
        costs,
        charged: [4],
        untilUs,
        seenUs,
      } as StoreRequest)
    }
    // Made, but the answer comes too late: it is made twice, and counts once.
    state.latencyMs = 200
    await settle(third, 2)
    state.latencyMs = 2
    state.isAway = true
    // As much as the estimate: nothing changes here, but in the store it would expire.
    await settle(first, 4)
    await settle(second, 7)
    state.isAway = false
    // The next request of the key waits for them.
    expect((await decide({ ...one, costs: [0] })).policies[0]?.remaining).toBe(20 - 4 - 7 - 2)
    await time.advance(20_000)
    expect(used(policySet)).toBe(4 + 7 + 2)
    const settled = asked.filter(({ mode }) => mode === 'settle').length
    await time.advance(20_000)
    expect(asked.filter(({ mode }) => mode === 'settle')).toHaveLength(settled)
  })

  test('what is given back is not taken for a loss of data', async () => {
    const { time, decide, asked, used } = world()
    const { untilUs, nowUs: seenUs } = await decide(consume)
    const settle = { ...consume, mode: 'settle', untilUs, seenUs } as const
    await decide({ ...settle, costs: [-4] })
    await decide({ ...consume, costs: [1] })
    await time.advance(100)
    expect(asked.map(({ mode }) => mode)).not.toContain('restore')
    expect(used(LOG)).toBe(1)
  })

  test('what must remain is not taken for a loss of data', async () => {
    const { time, decide, asked } = world()
    const policySet = makePolicySet('window', [fixedWindow({ limit: 10, window: '1h' })])
    const one = { ...consume, target: { policySet, key: 'k' }, costs: [1] }
    await decide({ ...one, atLeast: 1, keep: [5] })
    await decide({ ...one, atLeast: 1, keep: [9] })
    await decide(one)
    await decide({ ...one, atLeast: 1, keep: [0] })
    await time.advance(100)
    expect(asked.map(({ mode }) => mode)).toEqual(['consume', 'consume', 'consume', 'consume'])
  })
})
