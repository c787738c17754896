// Decisions without the store: the parts of a limit add up to it, a switch gives no new budget, and
// what was admitted is counted in the store.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
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

async function allDue(
  fallback: Fallback,
  isChosen: (admitted: Admitted) => boolean = () => true,
): Promise<Admitted[]> {
  return (await fallback.ledger.due(isChosen, async () => {})).flat()
}

/** The request that reports to the store what was admitted. */
function reconciling({ target, units, untilUs }: Admitted) {
  const costs = [units]
  return { mode: 'reconcile', target, costs, count: 1, untilUs: [untilUs as number] } as const
}

describe.each(Object.entries(MAKERS))('%s', (_, make) => {
  test('units that were seen no longer count once they are over', () => {
    const clock = fakeClock()
    const policySet = makePolicySet('p', [make(10)])
    const seen = memoryStore({ clock }).decide({ ...consuming(policySet, 'k'), costs: [10] })
    clock.advance('2m')
    const fallback = fallbackOf(() => ALONE, clock)
    const request = { ...consuming(policySet, 'k'), count: 11, atLeast: 1 }
    expect(fallback.decide(request, seenOf(seen), away, 1_000).granted).toBe(10)
  })

  test('a part that grows in an outage gives no new budget', () => {
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

  test('is kept, with what was admitted since, most units first', async () => {
    const fallback = fallbackOf()
    passes(fallback, policySet, 'other')
    for (let i = 0; i < 5; i += 1) passes(fallback, policySet, 'k')
    const onTheirWay = await allDue(fallback)
    for (const each of onTheirWay) each.waiting = []
    passes(fallback, policySet, 'k')
    // Nobody else may report the same to the store.
    expect(await allDue(fallback)).toEqual([])
    for (const each of onTheirWay) each.waiting = undefined
    expect(fallback.ledger.keys).toBe(2)
    const again = await allDue(fallback)
    expect(again.map(({ target, units }) => [target.key, units])).toEqual([
      ['k', 6],
      ['other', 1],
    ])
  })

  test('is not counted again if it was counted after all', async () => {
    const fallback = fallbackOf()
    for (let i = 0; i < 5; i += 1) passes(fallback, policySet, 'k')
    const requests = (await allDue(fallback)).map(reconciling)
    passes(fallback, policySet, 'k')
    for (const request of requests) fallback.ledger.reconciledLate(request)
    expect((await allDue(fallback)).map(({ units }) => units)).toEqual([1])
  })

  test('is only that of the chosen targets', async () => {
    const fallback = fallbackOf()
    for (const key of ['here', 'there']) passes(fallback, policySet, key)
    const here = await allDue(fallback, ({ target }) => target.key === 'here')
    expect(here.map(({ target }) => target.key)).toEqual(['here'])
    for (const each of here) fallback.ledger.forget(each)
    expect((await allDue(fallback)).map(({ target }) => target.key)).toEqual(['there'])
  })

  test('is found by every limit of its time scale, in units of the largest', async () => {
    const fallback = fallbackOf()
    const sets = [10, 40].map((capacity) =>
      makePolicySet('p', [tokenBucket({ name: 'b', capacity, refill: capacity, every: '1m' })]),
    )
    const [small, large] = sets as [PolicySet, PolicySet]
    passes(fallback, small, 'k')
    passes(fallback, small, 'k')
    passes(fallback, large, 'k')
    passes(fallback, small, 'k')
    const [entry] = fallback.ledger.owedBy({ policySet: small, key: 'k' })
    // A unit of the small bucket fills as much of it as four units fill the large one.
    expect(entry).toMatchObject({ units: 13, target: { policySet: large } })
    expect(fallback.ledger.owedBy({ policySet: large, key: 'k' })).toEqual([entry])
    expect(fallback.ledger.owedBy({ policySet: large, key: 'other' })).toEqual([])
  })
})

test('units from before an outage that are refunded in it may be taken again', () => {
  const fallback = fallbackOf()
  const policySet = makePolicySet('p', [fixedWindow({ limit: 10, window: '1m' })])
  const store = memoryStore({ clock: fakeClock() })
  const seen = seenOf(store.decide({ ...consuming(policySet, 'k'), costs: [6] }))
  const admitted = (): number => {
    let passed = 0
    for (let i = 0; i < 10; i += 1) if (passes(fallback, policySet, 'k', seen)) passed += 1
    return passed
  }
  expect(admitted()).toBe(4)
  const target = { policySet, key: 'k' }
  fallback.decide({ mode: 'refund', target, costs: [6], count: 1 }, seen, away, 1_000)
  expect(admitted()).toBe(6)
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

test('a part too small for a cost is no reason to deny forever', () => {
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

test('policy sets that come and go are not kept forever', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const fallback = fallbackOf()
  const policySets = Array.from({ length: 100 }, (_, i) => {
    const policySet = makePolicySet(`p${i}`, [fixedWindow({ limit: 100 + i, window: '1m' })])
    expect(passes(fallback, policySet, 'k')).toBe(true)
    return new WeakRef(policySet)
  })
  const due = await allDue(fallback)
  expect(due.length).toBe(100)
  for (const each of due.splice(0)) fallback.ledger.forget(each)
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  // The last one to decide is remembered.
  expect(policySets.filter((policySet) => policySet.deref() !== undefined).length).toBeLessThan(5)
  fallback.close()
})

test.each<[string, Policy]>([
  ['the calendar', fixedWindow({ limit: 10, window: 'day', timeZone: 'Asia/Kolkata' })],
  ['a minute', fixedWindow({ limit: 10, window: '1m', aligned: true })],
])('what was admitted in a window of %s is not counted in the next one', async (_, policy) => {
  const endMs = Date.parse('2026-05-20T18:30Z')
  const clock = fakeClock(endMs - 500)
  const fallback = fallbackOf(() => ALONE, clock)
  const policySet = makePolicySet('p', [policy])
  for (let i = 0; i < 7; i += 1) expect(passes(fallback, policySet, 'k')).toBe(true)
  expect(await allDue(fallback)).toMatchObject([{ units: 7, untilUs: endMs * 1_000 }])
  clock.set(endMs)
  // Last seen in the next window, in which others have taken 8 of 10.
  const seen = { nowUs: endMs * 1_000, remaining: [2], untilUs: [(endMs + 60_000) * 1_000] }
  const admitted = [1, 2, 3].filter(() => passes(fallback, policySet, 'k', seen))
  expect(admitted).toEqual([1, 2])
  expect(await allDue(fallback)).toMatchObject([{ units: 2 }])
  fallback.close()
})

test('a decision without the store has the length of the present month', () => {
  const clock = fakeClock(Date.UTC(2026, 1, 10))
  const fallback = fallbackOf(() => ALONE, clock)
  const policySet = makePolicySet('p', [fixedWindow({ limit: 10, window: 'month' })])
  const { policies } = fallback.decide(consuming(policySet, 'k'), undefined, away, 1_000)
  expect(policies[0]?.policy.windowMs).toBe(28 * 86_400_000)
  expect(policies[0]?.resetAfterMs).toBe(19 * 86_400_000)
  fallback.close()
})

test('a late reply belongs to the window in which the store has counted', async () => {
  const endMs = Date.UTC(2026, 5, 1)
  const clock = fakeClock(endMs - 500)
  const fallback = fallbackOf(() => ALONE, clock)
  const policySet = makePolicySet('p', [fixedWindow({ limit: 10, window: 'month' })])
  const request = consuming(policySet, 'k')
  const nextMs = Date.UTC(2026, 6, 1)
  for (let i = 0; i < 3; i += 1) passes(fallback, policySet, 'k')
  clock.set(endMs)
  for (let i = 0; i < 3; i += 1) passes(fallback, policySet, 'k')
  // Counted in May, which is over; the units of June have not been counted yet.
  fallback.ledger.countedLate(request, 2, [endMs * 1_000 + 123], false)
  expect(await allDue(fallback)).toMatchObject([{ units: 3 }])
  fallback.ledger.countedLate(request, 2, [nextMs * 1_000 + 123], false)
  expect(await allDue(fallback)).toMatchObject([{ units: 1 }])
  fallback.close()
})
