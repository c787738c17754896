// How long a denial is remembered, in virtual time: from when the store was asked, and only while
// it is certain to deny.

import { expect, test } from 'vitest'
import {
  type Clock,
  concurrency,
  fixedWindow,
  gcra,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js'
import type { Layer, LayerRequest, Pending } from '../../src/layer.js'
import { withDenyCache } from '../../src/layers/deny-cache.js'
import { memoryStoreOf } from '../../src/memory/store.js'
import { makePolicySet } from '../../src/request.js'
import type { PolicyResult, StoreRequest, StoreResult, Target } from '../../src/store.js'
import { virtualTime } from '../virtual-time.js'
import { answerOf, onTarget, ScriptedLayer } from './requests.js'

const policy = gcra({ limit: 2, period: '1s' })
const policySet = makePolicySet('p', [policy])
const target: Target = { policySet, key: 'k' }
const request = onTarget(target, 'consume')
const SENT_MS = 1_000

const window = fixedWindow({ name: 'w', limit: 9, window: '1s' })
const slots = concurrency({ limit: 2, holdTimeout: '30s' })

function resultOf(retryAfterMs: number, more: Partial<StoreResult> = {}): StoreResult {
  const policies = [{ policy, cost: 1, limit: 2, remaining: 0, retryAfterMs, resetAfterMs: 5_000 }]
  const nowUs = Date.UTC(2026, 0, 1) * 1_000
  const untilUs = [nowUs]
  const sentAtMs = SENT_MS
  const source = 'store'
  return { granted: 0, nowUs, untilUs, policies, source, degraded: false, sentAtMs, ...more }
}

const [one] = resultOf(500).policies as [PolicyResult]

/** A cache at 1,000 ms, in front of a store that always gives this denial. */
async function cacheOver(denial: StoreResult, clock?: Clock) {
  const time = virtualTime()
  await time.advance(SENT_MS)
  const next = new ScriptedLayer((asked, pending) => {
    if (asked.mode === 'consume') pending.decided(denial)
    else pending.decided({ ...denial, granted: 1 })
  })
  const cache = withDenyCache(next, { time, clock })
  return {
    time,
    next,
    cache,
    /** The answer of the cache; undefined if it asks the store. */
    known(asked: LayerRequest = request): StoreResult | undefined {
      const before = next.asked.length
      const answer = answerOf(cache, asked) as StoreResult
      return next.asked.length === before ? answer : undefined
    },
  }
}

/** After a denial that was sent at 1,000 ms and read 4.5 ms later. */
async function denied(retryAfterMs: number, more?: Partial<StoreResult>) {
  const parts = await cacheOver(resultOf(retryAfterMs, more))
  await parts.time.advance(4.5)
  answerOf(parts.cache, request)
  return parts
}

test('it is remembered until a ms before its wait is over, counted from when the store was asked', async () => {
  const { time, known } = await denied(10)
  expect(known()).toMatchObject({ granted: 0, source: 'cache', degraded: false })
  await time.advance(4.5)
  expect(known()).toBeDefined()
  await time.advance(0.002)
  expect(known()).toBeUndefined()
})

test('no wait is too short: waits are counted down from when the result was read', async () => {
  const block = { level: 1, isBlocked: true, hasBegun: true }
  const other = { ...one, retryAfterMs: 0, resetAfterMs: 9, block }
  const { time, known } = await denied(0, { policies: [one, other] })
  await time.advance(30.9)
  const answer = known()
  expect(answer?.nowUs).toBe(resultOf(0).nowUs + 30_900)
  expect(answer?.policies).toEqual([
    { ...one, retryAfterMs: 470, resetAfterMs: 4_970 },
    { ...other, resetAfterMs: 0, block: { ...block, hasBegun: false } },
  ])
})

test.each([
  [1, undefined],
  [2, expect.objectContaining({ granted: 0 })],
])('a wait of %d ms is remembered: %j', async (waitMs, then) => {
  const { cache, known } = await cacheOver(resultOf(waitMs))
  answerOf(cache, request)
  expect(known()).toEqual(then)
})

test('it is remembered for at most a second', async () => {
  const { time, known } = await denied(60_000)
  await time.advance(995.499)
  expect(known()).toBeDefined()
  await time.advance(0.001)
  expect(known()).toBeUndefined()
})

test('of several policies, the shortest wait counts', async () => {
  const { time, known } = await denied(0, { policies: [one, { ...one, retryAfterMs: 30 }] })
  await time.advance(24)
  expect(known()).toBeDefined()
  await time.advance(1)
  expect(known()).toBeUndefined()
})

test('an injected clock is used', async () => {
  const denial = resultOf(10)
  let nowUs = denial.nowUs
  const { time, cache, known } = await cacheOver(denial, { nowUs: () => nowUs })
  answerOf(cache, request)
  await time.advance(60_000)
  nowUs += 9_000
  expect(known()).toBeDefined()
  nowUs += 1
  expect(known()).toBeUndefined()
  nowUs = denial.nowUs - 1
  expect(known()).toBeUndefined()
})

test.each<[string, Partial<StoreResult>]>([
  ['was not made by the store', { source: 'local', degraded: true }],
  ['was asked for nobody knows when', { sentAtMs: undefined }],
  ['waits for a slot, which may soon be back', { policies: [{ ...one, policy: slots }] }],
])('a denial that %s is not remembered', async (_, more) => {
  expect((await denied(500, more)).known()).toBeUndefined()
})

test.each<[string, LayerRequest]>([
  ['a peek', onTarget(target, 'peek')],
  ['a penalty', onTarget(target, 'penalty')],
  ['another key', onTarget({ policySet, key: 'other' }, 'consume')],
  ['other costs', { ...request, costs: [2] }],
  ['several at once', { ...request, count: 2 }],
  ['other numbers', onTarget({ policySet: makePolicySet('p', [policy]), key: 'k' }, 'consume')],
  ['another limiter', onTarget({ policySet: makePolicySet('q', [policy]), key: 'k' }, 'consume')],
  ['policy keys', onTarget({ ...target, policyKeys: [{ key: 'k', tag: 'k' }] }, 'consume')],
])('it does not answer %s', async (_, asked) => {
  const { known } = await denied(500)
  expect(known(asked)).toBeUndefined()
})

test.each(['refund', 'reset', 'penalty', 'settle', 'cancel'] as const)(
  'after a %s it is forgotten, in every class',
  async (mode) => {
    const { known } = await denied(500)
    const batch = { ...request, keep: [1] }
    known(batch)
    expect(known({ ...request, mode, untilUs: [0], seenUs: 0 } as LayerRequest)).toBeUndefined()
    for (const each of [request, batch]) expect(known(each)).toBeUndefined()
  },
)

test.each<[LayerRequest['mode'], string]>([
  ['refund', 'other'],
  ['reset', 'other'],
  ['peek', 'k'],
])('after a %s of the key "%s" it is not', async (mode, key) => {
  const { known } = await denied(500)
  known(onTarget({ policySet, key }, mode as 'peek'))
  expect(known()).toBeDefined()
})

test.each(['refund', 'reset'] as const)(
  'after a %s with other numbers of the limiter it is forgotten',
  async (mode) => {
    const { known } = await denied(500)
    known(onTarget({ policySet: makePolicySet('p', [policy]), key: 'k' }, mode))
    expect(known()).toBeUndefined()
  },
)

test.each(['refund', 'reset'] as const)(
  'after a %s with a policy key, which others may share, all denials of the limiter are',
  async (mode) => {
    const { known } = await denied(500)
    const own = { policySet, key: 'other', policyKeys: [{ key: 'acme', tag: 'acme' }] }
    known(onTarget(own, mode))
    expect(known()).toBeUndefined()
  },
)

test('a denial with a policy key is forgotten after a change of any key, later ones without are not', async () => {
  const { next, known } = await denied(500)
  const own = onTarget({ ...target, policyKeys: [{ key: 'x', tag: 'x' }] }, 'consume')
  const refund = onTarget({ policySet, key: 'x' }, 'refund')
  known(own)
  known(refund)
  expect(known(own)).toBeUndefined()
  next.answer = (_, pending) => pending.decided(resultOf(500, { sentAtMs: 2 * SENT_MS }))
  known()
  known(refund)
  expect(known()).toBeDefined()
})

test.each<['refund' | 'reset', number]>([
  ['refund', 0],
  ['refund', 1],
  ['reset', 0],
  ['reset', 1],
])(
  'a denial of a request from before a %s, by %d ms, is not remembered after it',
  async (mode, ms) => {
    const time = virtualTime()
    const waiting: [LayerRequest, Pending][] = []
    const next = new ScriptedLayer((asked, pending) => void waiting.push([asked, pending]))
    const cache = withDenyCache(next, { time, clock: undefined })
    await time.advance(SENT_MS)
    answerOf(cache, request)
    await time.advance(ms)
    answerOf(cache, onTarget(target, mode))
    const [[, denial], [, change]] = waiting as [[LayerRequest, Pending], [LayerRequest, Pending]]
    change.decided(resultOf(0, { granted: 1 }))
    denial.decided(resultOf(500))
    expect(answerOf(cache, request)).toBeUndefined()
    expect(next.modes).toEqual(['consume', mode, 'consume'])
  },
)

test('a reset that failed may have been done, so denials are forgotten, also of requests from meanwhile', async () => {
  const { next, cache, known } = await denied(500)
  let reset: Pending | undefined
  next.answer = (asked, pending) => {
    if (asked.mode === 'reset') reset = pending
    else pending.decided(resultOf(500, { sentAtMs: 2 * SENT_MS }))
  }
  answerOf(cache, onTarget(target, 'reset'))
  expect(known()).toBeUndefined()
  reset?.failed(new Error('away'))
  expect(known()).toBeUndefined()
})

test('a failure of the store is passed on, and nothing is remembered', async () => {
  const { next, cache, known } = await cacheOver(resultOf(500))
  next.answer = (_, pending) => pending.failed(new Error('away'))
  expect(answerOf(cache, request)).toMatchObject({ message: 'away' })
  expect(known()).toBeUndefined()
})

test('the denials of classes are separate, and forgotten together', async () => {
  const { known, time } = await denied(500)
  const [batch, normal] = [
    { ...request, keep: [1] },
    { ...request, keep: [2] },
  ]
  for (const each of [batch, normal]) {
    expect(known(each)).toBeUndefined()
    expect(known(each)).toMatchObject({ granted: 0, source: 'cache' })
  }
  expect(known({ ...request, keep: [0] })).toBeUndefined()
  for (const each of [request, batch, normal]) expect(known(each)).toBeDefined()
  await time.advance(1)
  expect(known({ ...request, mode: 'refund' })).toBeUndefined()
  for (const each of [request, batch, normal]) expect(known(each)).toBeUndefined()
})

test('a key that looks like one with a class added is another key', async () => {
  const { known } = await denied(500)
  known({ ...request, keep: [1] })
  expect(known({ ...request, target: { ...target, key: '\n1 k' } })).toBeUndefined()
})

test('requests that pass in a higher class leave the denials of a lower one', async () => {
  const { next, cache, known } = await denied(500)
  const batch = { ...request, keep: [1] }
  known(batch)
  next.answer = (_, pending) => pending.decided(resultOf(0, { granted: 1 }))
  answerOf(cache, { ...request, keep: [0] })
  expect(known(batch)).toMatchObject({ granted: 0 })
})

test('each class of each key is remembered, however many limits its keys have', async () => {
  const { known } = await cacheOver(resultOf(500))
  for (let i = 0; i < 100; i += 1) {
    const own = { policySet: makePolicySet('p', [policy]), key: `k${i}` }
    for (const keep of [[i], [2 * i + 1]]) known({ ...onTarget(own, 'consume'), keep })
    for (const keep of [[i], [2 * i + 1]])
      expect(known({ ...onTarget(own, 'consume'), keep })).toBeDefined()
  }
})

test('for each key, 16 classes are remembered, and beyond them only the last one', async () => {
  const { known } = await cacheOver(resultOf(500))
  const all = Array.from({ length: 17 }, (_, kept) => ({ ...request, keep: [kept] }))
  for (const each of all.slice(1)) known(each)
  expect(all.slice(1).filter(known)).toHaveLength(16)
  known(all[0])
  expect(all.filter(known)).toEqual([all[0]])
})

test('requests that wait, or take as much as there is, are answered by the store, and leave nothing behind', async () => {
  const { known } = await denied(500)
  const limited = { ...request, atLeast: 1 }
  expect(known(limited)).toBeUndefined()
  expect(known({ ...limited, maxWaitMs: 100 })).toBeUndefined()
  expect(known()).toMatchObject({ granted: 0 })
  const fresh = await cacheOver(resultOf(500))
  expect(fresh.known({ ...limited, keep: [1] })).toBeUndefined()
  expect(fresh.known()).toBeUndefined()
})

test.each<[string, LayerRequest, boolean]>([
  ['as many units as there are were taken', { ...request, count: 3, atLeast: 1 }, false],
  ['a wait has ended', { ...request, atLeast: 1, maxWaitMs: 100 }, false],
  ['as many were taken by another class', { ...request, count: 3, atLeast: 1, keep: [1] }, true],
])('the store answers, with what is left now, once %s', async (_, taking, isKept) => {
  const { next, cache, known } = await denied(500)
  next.answer = (_asked, pending) => pending.decided(resultOf(0, { granted: 1 }))
  expect(known(taking)).toBeUndefined()
  next.answer = (_asked, pending) => pending.decided(resultOf(900))
  expect(known() !== undefined).toBe(isKept)
  answerOf(cache, request)
})

test('a request for as many units as there are that gets none leaves what is remembered', async () => {
  const { next, known } = await denied(500)
  next.answer = (_, pending) => pending.decided(resultOf(200))
  expect(known({ ...request, count: 3, atLeast: 2 })).toBeUndefined()
  expect(known()).toMatchObject({ policies: [{ retryAfterMs: 500 }] })
})

test.each<[string, Policy, number, boolean]>([
  ['it ends with the window of a policy', window, 30, true],
  ['it outlasts a window that nothing was taken from', window, 0, false],
  ['it outlasts the refill of a policy', policy, 30, false],
  ['it outlasts slots that are free', slots, 30, false],
])('%s that does not deny', async (_, free, resetAfterMs, ends) => {
  const other = { ...one, policy: free, retryAfterMs: 0, resetAfterMs }
  const { time, known } = await denied(0, { policies: [one, other] })
  await time.advance(24)
  expect(known()).toBeDefined()
  await time.advance(1)
  expect(known() === undefined).toBe(ends)
})

/** For how many ms requests are refused after the clock of the store has stepped back. */
async function refusedMs(limit: Policy, stepMs: number, hasCache: boolean): Promise<number> {
  const time = virtualTime()
  let behindUs = 0
  const clock = { nowUs: () => time.nowUs() - behindUs }
  const memory = memoryStoreOf({ clock, time, maxKeys: 100, keys: 'exact', slackMs: 0 })
  const store: Layer = {
    ask(asked, pending) {
      const result = memory.decide(asked as StoreRequest)
      pending.decided({ ...result, sentAtMs: time.nowMs() })
    },
  }
  const first = hasCache ? withDenyCache(store, { time, clock: undefined }) : store
  const of = { ...target, policySet: makePolicySet('p', [limit]) }
  // Costs the whole limit, after more than that was taken: the longest wait.
  const consume = () => answerOf(first, { ...onTarget(of, 'consume'), costs: [limit.limit] })
  answerOf(first, { ...onTarget(of, 'penalty'), costs: [3 * limit.limit] })
  consume()
  behindUs = stepMs * 1_000
  const sinceMs = time.nowMs()
  while ((consume() as StoreResult).granted === 0) await time.advance(10)
  memory.close()
  return time.nowMs() - sinceMs
}

test.each<[string, Policy, number]>([
  ['token bucket', tokenBucket({ capacity: 10, refill: 5, every: '1s' }), 2_000],
  ['GCRA', gcra({ limit: 10, period: '2s' }), 2_000],
  ['fixed window', fixedWindow({ limit: 10, window: '2s' }), 2_000],
  ['sliding log', slidingLog({ limit: 10, window: '2s' }), 2_000],
  ['sliding window', slidingWindow({ limit: 10, window: '2s' }), 2_034],
  ['sliding counter', slidingCounter({ limit: 10, window: '2s' }), 4_000],
])(
  'a clock that steps back blocks for two full resets at most, or a second more beside a remembered denial: %s',
  async (_, limit, resetMs) => {
    // A hundredth more for a bucket, whose prices are rounded; and requests come every 10 ms.
    const boundMs = 2 * resetMs * 1.01 + 20
    let most = 0
    for (let stepMs = 100; stepMs <= 2.5 * resetMs; stepMs += 100) {
      expect(await refusedMs(limit, stepMs, false)).toBeLessThanOrEqual(boundMs)
      most = Math.max(most, await refusedMs(limit, stepMs, true))
    }
    expect(most).toBeLessThanOrEqual(boundMs + 1_000)
  },
)
