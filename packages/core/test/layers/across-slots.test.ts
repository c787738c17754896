// Policies of one decision whose keys are in different slots, in virtual time: they are asked one
// after another, and nobody is charged for a refused request.

import { expect, test } from 'vitest'
import { StoreError } from '../../src/base/errors.js'
import { budget, concurrency, lockout, RateLimiter, slidingLog } from '../../src/index.js'
import { type Layer, type LayerRequest, layerOf, type Pending, promiseOf } from '../../src/layer.js'
import { acrossSlots } from '../../src/layers/across-slots.js'
import { inTime } from '../../src/limiter/limiter.js'
import { makePolicySet } from '../../src/request.js'
import type { Store, StoreResult, Target } from '../../src/store.js'
import { virtualTime } from '../virtual-time.js'
import { decided, memoryIn, onTarget, ScriptedLayer } from './requests.js'

const DEADLINE_MS = 100
const few = slidingLog({ name: 'few', limit: 2, window: '1m' })
const many = slidingLog({ name: 'many', limit: 9, window: '1m' })
const most = slidingLog({ name: 'most', limit: 99, window: '1m' })
const own = (key: string) => ({ key, tag: key })
/** The largest limit comes first. */
const target: Target = {
  policySet: makePolicySet('p', [most, many, few], ['local', 'deny', 'throw']),
  key: 'k',
  policyKeys: [own('a'), own('b'), own('c')],
}

/** The answer after promises have settled, if the next layer answers synchronously. */
async function answerOf(first: Layer, request: LayerRequest): Promise<StoreResult | Error> {
  return promiseOf(first, request).catch((error: Error) => error)
}

/** In front of a store that takes `latencyMs`; by default each policy has a separate slot. */
function across(latencyMs = 0, slots: readonly number[] = [1, 2, 3]) {
  const time = virtualTime()
  const store = memoryIn(time)
  const layer = layerOf(store)
  const answer = (request: LayerRequest, pending: Pending): void => {
    if (latencyMs === 0) layer.ask(request, pending)
    else time.after(latencyMs, () => layer.ask(request, pending))
  }
  const next = new ScriptedLayer(answer)
  const slotsOf = () => slots
  const first = acrossSlots(next, { time, deadlineMs: DEADLINE_MS, slotsOf })
  const parts = () =>
    next.asked.map(({ mode, target: { policySet } }) => {
      return `${mode} ${policySet.policies.map(({ name }) => name).join('+')}`
    })
  const left = () => {
    const { policies } = store.decide({ ...onTarget(target, 'peek') })
    return policies.map(({ remaining }) => remaining)
  }
  return { time, store, next, first, parts, left, answer }
}

test('a lock-out is asked last, so it begins no block for a request that is refused elsewhere', async () => {
  const guesses = lockout({ limit: 1, window: '1m', block: ['1m'], forget: '1h' })
  const both: Target = {
    policySet: makePolicySet('p', [guesses, few]),
    key: 'k',
    policyKeys: [own('a'), own('b')],
  }
  const { time, store, first, parts } = across(5, [1, 2])
  store.decide({ ...onTarget(both, 'penalty'), costs: [0, 2] })
  const result = await decided(time, first, { ...onTarget(both, 'consume'), costs: [1, 1] })
  expect(result.granted).toBe(0)
  expect(parts()).toEqual(['consume few', `peek ${guesses.name}`])
  expect(store.decide(onTarget(both, 'peek')).policies[0]).toMatchObject({ remaining: 1 })
})

const open = concurrency({ name: 'open', limit: 2, holdTimeout: '1m' })
const all = concurrency({ name: 'all', limit: 9, holdTimeout: '1m' })
const slots: Target = {
  policySet: makePolicySet('p', [all, open, few]),
  key: 'k',
  policyKeys: [own('a'), own('b'), own('c')],
}

test('slots are asked for last', async () => {
  const { time, first, parts } = across(5)
  await decided(time, first, onTarget(slots, 'consume'))
  expect(parts()).toEqual(['consume few', 'consume open', 'consume all'])
})

test('are asked slot by slot, the smallest limit first; the result keeps the order of policies', async () => {
  const { time, first, parts } = across(5)
  const result = await decided(time, first, { ...onTarget(target, 'consume'), costs: [3, 2, 1] })
  expect(parts()).toEqual(['consume few', 'consume many', 'consume most'])
  expect(result).toMatchObject({
    granted: 1,
    source: 'store',
    degraded: false,
    policies: [
      { policy: most, cost: 3, remaining: 96 },
      { policy: many, cost: 2, remaining: 7 },
      { policy: few, cost: 1, remaining: 1 },
    ],
  })
  expect(result.untilUs.map((until) => until > result.nowUs)).toEqual([true, true, true])
  expect(time.nowMs()).toBe(15)
})

test('those in one slot are asked together, and if all are in one, they are one request', async () => {
  const two = across(0, [7, 8, 7])
  await answerOf(two.first, onTarget(target, 'consume'))
  expect(two.parts()).toEqual(['consume most+few', 'consume many'])
  const one = across(0, [7, 7, 7])
  const request = onTarget(target, 'consume')
  await answerOf(one.first, request)
  expect(one.next.asked).toEqual([request])
  expect(one.next.asked[0]).toBe(request)
})

test('are not looked for if no policy has a policy key', async () => {
  const { first, next } = across()
  const request = onTarget({ policySet: target.policySet, key: 'k' }, 'consume')
  await answerOf(first, request)
  expect(next.asked[0]).toBe(request)
})

test('are decided as the limiter says while the store is away, each for itself', async () => {
  const { first, next } = across()
  await answerOf(first, onTarget(target, 'consume'))
  expect(next.asked.map((part) => part.target.policySet.whenUnavailable)).toEqual([
    ['throw'],
    ['deny'],
    ['local'],
  ])
})

test('one that denies: the earlier ones are given back, the later ones only peeked', async () => {
  const { first, store, parts, left } = across()
  store.decide({ ...onTarget(target, 'consume'), costs: [0, 9, 0] })
  const result = await answerOf(first, onTarget(target, 'consume'))
  expect(parts()).toEqual(['consume few', 'consume many', 'refund few', 'peek most'])
  expect(result).toMatchObject({
    granted: 0,
    policies: [{ remaining: 99 }, { remaining: 0, retryAfterMs: 60_000 }, { remaining: 2 }],
  })
  expect(left()).toEqual([99, 0, 2])
})

test('one that was used up by units that are given back has them again, and no wait', async () => {
  const { first, store } = across()
  store.decide({ ...onTarget(target, 'consume'), costs: [0, 9, 0] })
  const result = await answerOf(first, { ...onTarget(target, 'consume'), costs: [0, 1, 2] })
  expect(result).toMatchObject({ policies: [{}, {}, { remaining: 2, retryAfterMs: 0 }] })
})

test('a denial does not wait for units that are given back', async () => {
  const { time, first, store, left } = across(5)
  store.decide({ ...onTarget(target, 'consume'), costs: [9, 9, 0] })
  await decided(time, first, onTarget(target, 'consume'))
  // Two policies are charged, and one is only peeked.
  expect(time.nowMs()).toBe(15)
  expect(left()).toEqual([90, 0, 2])
})

test('what is given back is what was charged, not what others have been charged since', async () => {
  const { first, store, next } = across()
  store.decide({ ...onTarget(target, 'consume'), costs: [0, 9, 0] })
  await answerOf(first, onTarget(target, 'consume'))
  const [charged, , refund] = next.asked as [LayerRequest, LayerRequest, LayerRequest]
  expect(refund).toMatchObject({ mode: 'refund', costs: [1], target: charged.target })
  expect(refund.untilUs).toHaveLength(1)
  expect(refund.seenUs).toBeGreaterThan(0)
})

test('one that the store cannot decide denies, with when to ask again', async () => {
  const { first, next, answer } = across()
  next.answer = (request, pending) => {
    const isAway = request.target.policySet.policies[0] === many && request.mode === 'consume'
    if (!isAway) answer(request, pending)
    else {
      const decided = (result: StoreResult): void => {
        pending.decided({
          ...result,
          granted: 0,
          source: 'local',
          degraded: true,
          unavailableMs: 300,
        })
      }
      answer({ ...request, mode: 'peek' }, { ...pending, decided })
    }
  }
  const result = await answerOf(first, onTarget(target, 'consume'))
  expect(result).toMatchObject({ granted: 0, unavailableMs: 300, degraded: true, source: 'local' })
})

test.each(['consume', 'penalty', 'refund'] as const)(
  'a failure of one fails the %s; what a consume has charged is given back',
  async (mode) => {
    const { first, next, answer, parts } = across()
    const away = new StoreError('WEIR_STORE_FAILED', 'away')
    next.answer = (request, pending) => {
      if (request.target.policySet.policies[0] === many) pending.failed(away)
      else answer(request, pending)
    }
    expect(await answerOf(first, onTarget(target, mode))).toBe(away)
    const asked = [`${mode} few`, `${mode} many`]
    expect(parts()).toEqual(mode === 'consume' ? [...asked, 'refund few'] : asked)
  },
)

test.each(['peek', 'penalty', 'refund', 'reset'] as const)(
  'a %s reaches them all',
  async (mode) => {
    const { first, store, parts } = across()
    store.decide({ ...onTarget(target, 'consume'), costs: [99, 9, 2] })
    await answerOf(first, onTarget(target, mode))
    expect(parts()).toEqual([`${mode} few`, `${mode} many`, `${mode} most`])
  },
)

test('a long turn is not part of the deadline', async () => {
  const { time, first, next } = across(5)
  const asked = promiseOf(first, onTarget(target, 'consume'))
  time.block(500)
  await time.settle(asked)
  // Requests from before the end of the turn get their time from whoever keeps the deadline.
  const deadlines = next.asked.map(({ deadlineAtMs }) => deadlineAtMs)
  expect(deadlines).toEqual([undefined, undefined, 600])
})

test('all share one deadline, that of the request if it has one', async () => {
  const { time, first, next } = across(5)
  await time.advance(1_000)
  await decided(time, first, onTarget(target, 'consume'))
  // The first part's own deadline begins at the same instant: at the end of the turn.
  expect(next.asked.map(({ deadlineAtMs }) => deadlineAtMs)).toEqual([undefined, 1_100, 1_100])
  next.asked.length = 0
  await decided(time, first, { ...onTarget(target, 'consume'), deadlineAtMs: 1_234 })
  expect(next.asked.map(({ deadlineAtMs }) => deadlineAtMs)).toEqual([1_234, 1_234, 1_234])
})

test('after the deadline nobody waits for units that are given back', async () => {
  const { time, first, next, store, left } = across(60)
  store.decide({ ...onTarget(target, 'consume'), costs: [0, 9, 0] })
  const asked = promiseOf(first, onTarget(target, 'consume'))
  await time.advance(120)
  const [few, , refund, peek] = next.asked
  // The last part is asked while the refund is in progress.
  expect([refund?.mode, refund?.deadlineAtMs]).toEqual(['refund', undefined])
  expect([few?.deadlineAtMs, peek?.mode, peek?.deadlineAtMs]).toEqual([undefined, 'peek', 100])
  expect(await time.settle(asked)).toMatchObject({ granted: 0 })
  expect(left()).toEqual([99, 0, 2])
})

test('of as many as there are, all are charged the same, and the excess is given back', async () => {
  const { store, next, first, left } = across()
  const other = { ...target, policySet: makePolicySet('p', [many]), policyKeys: [own('b')] }
  store.decide({ ...onTarget(other, 'consume'), costs: [8] })
  const request = { ...onTarget(target, 'consume'), count: 5, atLeast: 1 }
  const result = (await answerOf(first, request)) as StoreResult
  expect(result.granted).toBe(1)
  expect(next.asked.map(({ mode, count, costs }) => [mode, count * (costs[0] as number)])).toEqual([
    ['consume', 5],
    ['consume', 2],
    ['refund', 1],
    ['consume', 1],
  ])
  expect(left()).toEqual([98, 0, 1])
  expect(result.policies.map(({ remaining }) => remaining)).toEqual([98, 0, 1])
})

test('of fewer than at least, nothing is charged', async () => {
  const { store, first, left } = across()
  const other = { ...target, policySet: makePolicySet('p', [many]), policyKeys: [own('b')] }
  store.decide({ ...onTarget(other, 'consume'), costs: [8] })
  const request = { ...onTarget(target, 'consume'), count: 2, atLeast: 2 }
  expect(((await answerOf(first, request)) as StoreResult).granted).toBe(0)
  expect(left()).toEqual([99, 1, 2])
})

test('a part of a request that would wait reserves no turn, and has its own part of what must remain', async () => {
  const { next, first } = across()
  const limits = { atLeast: 1, maxWaitMs: 100, keep: [3, 2, 1] }
  await answerOf(first, { ...onTarget(target, 'consume'), ...limits })
  expect(next.asked.map(({ maxWaitMs, keep }) => [maxWaitMs, keep])).toEqual([
    [undefined, [1]],
    [undefined, [2]],
    [undefined, [3]],
  ])
})

test('a settlement is asked slot by slot, with the costs of each', async () => {
  const { first, next, left } = across()
  await answerOf(first, { ...onTarget(target, 'consume'), costs: [5, 2, 1] })
  const settle = { ...onTarget(target, 'settle'), costs: [-5, 1, 2] }
  await answerOf(first, { ...settle, untilUs: [9e15, 9e15, 9e15] })
  expect(left()).toEqual([99, 6, 0])
  expect(next.asked.slice(3).map(({ costs }) => costs[0])).toEqual([2, 1, -5])
})

test('of a decision, one that fails keeps no later one from being settled, and is told', async () => {
  const { first, next, parts, left, answer } = across()
  next.answer = (request, pending) => {
    if (request.target.policySet.policies[0] === few) pending.failed(new Error('away'))
    else answer(request, pending)
  }
  const untilUs = [0, 0, 0].map(() => Number.POSITIVE_INFINITY)
  const request = { ...onTarget(target, 'consume'), mode: 'settle', costs: [3, 2, 1] } as const
  expect(await answerOf(first, { ...request, untilUs, seenUs: 0 })).toEqual(new Error('away'))
  expect(parts()).toEqual(['settle few', 'settle many', 'settle most'])
  expect(left()).toEqual([96, 7, 2])
})

test.each([
  ['settled to what they were', 4, [26, 26]],
  ['settled to less', 1, [29, 26]],
  ['settled to more', 6, [24, 24]],
  ['refunded', undefined, [30, 30]],
])(
  'estimates of which the store holds one, and another was admitted without it, are %s',
  async (_, actual, expected) => {
    const holds = { limit: 40, holdTimeout: '1m' } as const
    const [team, user] = [budget({ name: 'team', ...holds }), budget({ name: 'user', ...holds })]
    const time = virtualTime()
    const memory = memoryIn(time)
    const isAway = { user: false }
    const next = new ScriptedLayer((request, pending) => {
      const { mode, target, costs, count } = request
      const isOfUser = target.policySet.policies[0]?.name === 'user'
      if (!isAway.user || mode !== 'consume' || !isOfUser) {
        layerOf(memory).ask(request, pending)
        return
      }
      // What is admitted without the store is counted in it later, as spent.
      const spent = memory.decide({ mode: 'penalty', target, costs, count })
      const untilUs = [Number.POSITIVE_INFINITY]
      pending.decided({ ...spent, source: 'local', degraded: true, untilUs })
    })
    const slotsOf = (of: Target) => of.policySet.policies.map((_, i) => i)
    const first = acrossSlots(next, { time, deadlineMs: DEADLINE_MS, slotsOf })
    const store: Store = {
      decide: (request) => promiseOf(first, request),
      reset: (of) => memory.reset(of),
    }
    const policy = (key: string) => [
      { policy: team, key: 'team' },
      { policy: user, key },
    ]
    const limiter = new RateLimiter(inTime(time, { name: 'p', store, policy }))
    const left = async () => (await limiter.peek('k')).policies.map(({ remaining }) => remaining)
    await limiter.settle(await limiter.consume('k', { cost: 10 }), 10)
    isAway.user = true
    const decision = await limiter.consume('k', { cost: 4 })
    expect(decision).toMatchObject({ allowed: true, degraded: true })
    isAway.user = false
    expect(await left()).toEqual([26, 26])
    if (actual === undefined) await limiter.refund(decision)
    else await limiter.settle(decision, actual)
    expect(await left()).toEqual(expected)
    await time.advance(150_000)
    expect(await left()).toEqual(expected)
  },
)
