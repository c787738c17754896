// Decisions without the store: the parts of a limit sum up to it, a switch gives no new budget, and
// what was admitted is counted in the store.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  memoryStore,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.js'
import type { Admitted } from '../../../src/layers/resilience/admitted.js'
import { Fallback } from '../../../src/layers/resilience/fallback.js'
import type { Seen } from '../../../src/layers/resilience/last-seen.js'
import { ALONE, type Peers } from '../../../src/layers/resilience/peers.js'
import { makePolicySet } from '../../../src/request.js'
import type { PolicySet, StoreResult } from '../../../src/store.js'
import { fakeClock } from '../../../src/testing/index.js'
import { virtualTime } from '../../virtual-time.js'
import { consuming } from '../requests.js'

const MAKERS: Record<string, (limit: number) => Policy> = {
  bucket: (capacity) => tokenBucket({ capacity, refill: Math.max(1, capacity), every: '1m' }),
  fixed: (limit) => fixedWindow({ limit, window: '1m' }),
  log: (limit) => slidingLog({ limit, window: '1m' }),
  window: (limit) => slidingWindow({ limit, window: '1m', parts: 10 }),
  counter: (limit) => slidingCounter({ limit, window: '1m' }),
}

const away = new Error('away')

function fallbackOf(
  peers: () => Peers = () => ALONE,
  clock = fakeClock(),
  maxLocalKeys = 100_000,
): Fallback {
  const time = virtualTime()
  return new Fallback({ clock, peers, time, whenUnavailable: 'local', maxLocalKeys })
}

function seenOf({ nowUs, untilUs, policies }: StoreResult): Seen {
  return { nowUs, untilUs, remaining: policies.map(({ remaining }) => remaining) }
}

/** Whether a request of one unit passes. */
function passes(fallback: Fallback, policySet: PolicySet, key: string, seen?: Seen): boolean {
  return fallback.decide(consuming(policySet, key), seen, away, 1_000).granted > 0
}

function allDue(fallback: Fallback): Admitted[] {
  return fallback.ledger.due(() => true)
}

/** What tells the store what was admitted. */
function reconciling({ target, units, untilUs }: Admitted) {
  return { mode: 'reconcile', target, costs: [...units], count: 1, untilUs } as const
}

describe.each(Object.entries(MAKERS))('%s', (_, make) => {
  test('instances together admit the limit at once, above and below their number', () => {
    for (const [limit, count] of [
      [100, 4],
      [10, 4],
      [3, 4],
      [0, 4],
      [1, 7],
    ] as const) {
      const policySet = makePolicySet('p', [make(limit)])
      const clock = fakeClock()
      let admitted = 0
      for (let rank = 0; rank < count; rank += 1) {
        const fallback = fallbackOf(() => ({ count, rank }), clock)
        for (let i = 0; i <= limit; i += 1) {
          const result = fallback.decide(consuming(policySet, 'k'), undefined, away, 1_000)
          expect(result).toMatchObject({ source: 'local', degraded: true })
          admitted += result.granted
        }
      }
      expect(admitted).toBe(limit)
    }
  })

  test('a switch gives no new budget: what was left is what all instances together admit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 60 }),
        (limit, count, tries) => {
          const clock = fakeClock()
          const policySet = makePolicySet('p', [make(limit)])
          const store = memoryStore({ clock })
          let seen = store.decide({ ...consuming(policySet, 'k'), mode: 'peek' })
          for (let i = 0; i < tries; i += 1) seen = store.decide(consuming(policySet, 'k'))
          const { remaining } = seen.policies[0] as (typeof seen.policies)[0]
          let admitted = 0
          for (let rank = 0; rank < count; rank += 1) {
            const fallback = fallbackOf(() => ({ count, rank }), clock)
            for (let i = 0; i <= limit; i += 1)
              if (passes(fallback, policySet, 'k', seenOf(seen))) admitted += 1
          }
          expect(admitted).toBeLessThanOrEqual(remaining)
          expect(admitted).toBeGreaterThanOrEqual(remaining - count)
        },
      ),
      { numRuns: 200 },
    )
  })

  test('what was admitted is counted in the store: the total stays the limit', () => {
    const clock = fakeClock()
    const limit = 20
    const policySet = makePolicySet('p', [make(limit)])
    const store = memoryStore({ clock })
    let seen = store.decide(consuming(policySet, 'k'))
    for (let i = 1; i < 8; i += 1) seen = store.decide(consuming(policySet, 'k'))
    const fallback = fallbackOf(() => ALONE, clock)
    let admitted = 8
    for (let i = 0; i < 5; i += 1) if (passes(fallback, policySet, 'k', seenOf(seen))) admitted += 1
    const [entry] = allDue(fallback)
    const request = reconciling(entry as Admitted)
    store.decide(request)
    fallback.ledger.counted(request, 1)
    expect(fallback.ledger.keys).toBe(0)
    for (let i = 0; i < limit; i += 1) admitted += store.decide(consuming(policySet, 'k')).granted
    expect(admitted).toBe(limit)
  })

  test('what the store had counted after all is not counted again', () => {
    const fallback = fallbackOf()
    const policySet = makePolicySet('p', [make(20)])
    for (let i = 0; i < 5; i += 1) passes(fallback, policySet, 'k')
    fallback.ledger.counted(consuming(policySet, 'k'), 3)
    expect(allDue(fallback).map(({ units }) => units)).toEqual([[2]])
  })

  test('a part that grows within an outage gives no new budget', () => {
    const clock = fakeClock()
    let count = 4
    const fallback = fallbackOf(() => ({ count, rank: 0 }), clock)
    const policySet = makePolicySet('p', [make(100)])
    const used = { ...consuming(policySet, 'k'), costs: [80] }
    const seen = seenOf(memoryStore({ clock }).decide(used))
    let passed = 0
    for (let i = 0; i < 100; i += 1) {
      if (i === 3) count = 1
      if (passes(fallback, policySet, 'k', seen)) passed += 1
    }
    expect(passed).toBeLessThanOrEqual(6)
  })
})

describe('what could not be counted', () => {
  const policySet = makePolicySet('p', [slidingLog({ limit: 20, window: '1m' })])

  test('is kept, with what was admitted since, most units first', () => {
    const fallback = fallbackOf()
    passes(fallback, policySet, 'other')
    for (let i = 0; i < 5; i += 1) passes(fallback, policySet, 'k')
    const onTheirWay = allDue(fallback)
    for (const each of onTheirWay) each.isOnItsWay = true
    passes(fallback, policySet, 'k')
    // Nobody else is to tell the store the same.
    expect(allDue(fallback)).toEqual([])
    for (const each of onTheirWay) each.isOnItsWay = false
    expect(fallback.ledger.keys).toBe(2)
    const again = allDue(fallback)
    expect(again.map(({ target, units }) => [target.key, units])).toEqual([
      ['k', [6]],
      ['other', [1]],
    ])
    expect(again.every(({ untilUs }) => untilUs.length === 1)).toBe(true)
  })

  test('and was after all, is not counted again', () => {
    const fallback = fallbackOf()
    for (let i = 0; i < 5; i += 1) passes(fallback, policySet, 'k')
    const requests = allDue(fallback).map(reconciling)
    passes(fallback, policySet, 'k')
    for (const request of requests) fallback.ledger.counted(request, 1)
    expect(allDue(fallback).map(({ units }) => units)).toEqual([[1]])
  })

  test('is only that of the targets that are chosen', () => {
    const fallback = fallbackOf()
    for (const key of ['here', 'there']) passes(fallback, policySet, key)
    const here = fallback.ledger.due(({ target }) => target.key === 'here')
    expect(here.map(({ target }) => target.key)).toEqual(['here'])
    for (const each of here) fallback.ledger.giveUp(each)
    expect(allDue(fallback).map(({ target }) => target.key)).toEqual(['there'])
  })

  test('is nothing where a refund gave it back, or only was looked', () => {
    const fallback = fallbackOf()
    passes(fallback, policySet, 'k')
    fallback.decide({ ...consuming(policySet, 'k'), mode: 'refund' }, undefined, away, 1_000)
    fallback.decide({ ...consuming(policySet, 'looked'), mode: 'peek' }, undefined, away, 1_000)
    expect(allDue(fallback)).toEqual([])
    expect(fallback.ledger.keys).toBe(0)
  })
})

test('what was admitted, and what was decided locally, is forgotten with its key', () => {
  const fallback = fallbackOf()
  const policySet = makePolicySet('p', [slidingLog({ limit: 1, window: '1m' })])
  expect(passes(fallback, policySet, 'k')).toBe(true)
  expect(passes(fallback, policySet, 'k')).toBe(false)
  fallback.forget({ policySet, key: 'k' })
  expect(fallback.ledger.keys).toBe(0)
  expect(passes(fallback, policySet, 'k')).toBe(true)
})

test('keys of any length are kept, to be counted in the store', () => {
  const fallback = fallbackOf()
  const policySet = makePolicySet('p', [slidingLog({ limit: 1, window: '1m' })])
  const long = 'x'.repeat(2_000)
  expect(passes(fallback, policySet, long)).toBe(true)
  expect(passes(fallback, policySet, long)).toBe(false)
  expect(allDue(fallback).map(({ target }) => target.key)).toEqual([long])
})

test('limiters that know a key by the same text are counted apart', () => {
  const fallback = fallbackOf()
  const policySets = ['a', 'b'].map((name) =>
    makePolicySet(name, [slidingLog({ limit: 9, window: '1m' })]),
  )
  for (const policySet of policySets) passes(fallback, policySet, 'k')
  expect(fallback.ledger.keys).toBe(2)
  const taken = allDue(fallback)
  expect(taken.map(({ target, units }) => [target.policySet.name, units])).toEqual([
    ['a', [1]],
    ['b', [1]],
  ])
})

test('a part too small for a cost is no reason to say never', () => {
  const fallback = fallbackOf(() => ({ count: 4, rank: 3 }))
  const policySet = makePolicySet('p', [slidingLog({ limit: 3, window: '1m' })])
  expect(fallback.decide(consuming(policySet, 'k'), undefined, away, 1_000).policies).toMatchObject(
    [{ limit: 3, remaining: 0, retryAfterMs: 1_000 }],
  )
  const never = fallback.decide(
    { ...consuming(policySet, 'k'), costs: [4] },
    undefined,
    away,
    1_000,
  )
  expect(never.policies).toMatchObject([{ retryAfterMs: Number.POSITIVE_INFINITY }])
})

test('policy sets that came and went are not kept for ever', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const fallback = fallbackOf()
  const policySets = Array.from({ length: 100 }, (_, i) => {
    const policySet = makePolicySet('p', [fixedWindow({ limit: 100 + i, window: '1m' })])
    expect(passes(fallback, policySet, 'k')).toBe(true)
    return new WeakRef(policySet)
  })
  const due = allDue(fallback)
  expect(due.length).toBe(100)
  for (const each of due.splice(0)) fallback.ledger.giveUp(each)
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  // Whoever decided last is remembered.
  expect(policySets.filter((policySet) => policySet.deref() !== undefined).length).toBeLessThan(5)
  fallback.close()
})

test.each<[string, Policy]>([
  ['the calendar', fixedWindow({ limit: 10, window: 'day', timeZone: 'Asia/Kolkata' })],
  ['a minute', fixedWindow({ limit: 10, window: '1m', aligned: true })],
])('what was admitted in a window of %s is not counted in the next one', (_, policy) => {
  const endMs = Date.parse('2026-05-20T18:30Z')
  const clock = fakeClock(endMs - 500)
  const fallback = fallbackOf(() => ALONE, clock)
  const policySet = makePolicySet('p', [policy])
  for (let i = 0; i < 7; i += 1) expect(passes(fallback, policySet, 'k')).toBe(true)
  expect(allDue(fallback)).toMatchObject([{ units: [7], untilUs: [endMs * 1_000] }])
  clock.set(endMs)
  // Last seen in the next window, where others have taken 8 of 10.
  const seen = { nowUs: endMs * 1_000, remaining: [2], untilUs: [(endMs + 60_000) * 1_000] }
  const admitted = [1, 2, 3].filter(() => passes(fallback, policySet, 'k', seen))
  expect(admitted).toEqual([1, 2])
  expect(allDue(fallback)).toMatchObject([{ units: [2] }])
  fallback.close()
})

test('a decision without the store has the length of the very month', () => {
  const clock = fakeClock(Date.UTC(2026, 1, 10))
  const fallback = fallbackOf(() => ALONE, clock)
  const policySet = makePolicySet('p', [fixedWindow({ limit: 10, window: 'month' })])
  const { policies } = fallback.decide(consuming(policySet, 'k'), undefined, away, 1_000)
  expect(policies[0]?.policy.windowMs).toBe(28 * 86_400_000)
  expect(policies[0]?.resetAfterMs).toBe(19 * 86_400_000)
  fallback.close()
})

test('a late reply is of the window in which the store has counted', () => {
  const endMs = Date.UTC(2026, 5, 1)
  const clock = fakeClock(endMs - 500)
  const fallback = fallbackOf(() => ALONE, clock)
  const policySet = makePolicySet('p', [fixedWindow({ limit: 10, window: 'month' })])
  const request = consuming(policySet, 'k')
  const nextMs = Date.UTC(2026, 6, 1)
  for (let i = 0; i < 3; i += 1) passes(fallback, policySet, 'k')
  clock.set(endMs)
  for (let i = 0; i < 3; i += 1) passes(fallback, policySet, 'k')
  // Counted in May: that is over, and the units of June are yet to be counted.
  fallback.ledger.counted(request, 2, [endMs * 1_000 + 123])
  expect(allDue(fallback)).toMatchObject([{ units: [3] }])
  fallback.ledger.counted(request, 2, [nextMs * 1_000 + 123])
  expect(allDue(fallback)).toMatchObject([{ units: [1] }])
  fallback.close()
})
