// Decisions without the store: shares sum up to the limit, a switch gives no new budget, and what was admitted is settled.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Recent } from '../../../src/base/cache.js'
import { StoreError } from '../../../src/base/errors.js'
import {
  fixedWindow,
  memoryStore,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.js'
import { decideBySlot } from '../../../src/layers/across-slots.js'
import { Fallback } from '../../../src/layers/resilience/fallback.js'
import type { Seen } from '../../../src/layers/resilience/last-seen.js'
import { checkedInstances, partOf } from '../../../src/layers/resilience/peers.js'
import { decideWithoutStore } from '../../../src/layers/resilience/unavailable.js'
import { keyFormat } from '../../../src/redis/transport/keys.js'
import {
  makePolicySet,
  type PolicySet,
  type StoreRequest,
  type StoreResult,
} from '../../../src/store.js'
import { fakeClock } from '../../../src/testing/index.js'

const MAKERS: Record<string, (limit: number) => Policy> = {
  bucket: (capacity) => tokenBucket({ capacity, refill: Math.max(1, capacity), every: '1m' }),
  fixed: (limit) => fixedWindow({ limit, window: '1m' }),
  log: (limit) => slidingLog({ limit, window: '1m' }),
  window: (limit) => slidingWindow({ limit, window: '1m', parts: 10 }),
  counter: (limit) => slidingCounter({ limit, window: '1m' }),
}

function seenOf({ nowUs, untilUs, figures }: StoreResult): Seen {
  return { nowUs, untilUs, remaining: figures.map(({ remaining }) => remaining) }
}

function consume(policySet: PolicySet, key: string): StoreRequest {
  return { policySet, key, mode: 'consume', costs: policySet.policies.map(() => 1) }
}

test('parts of a number sum up to it where ranks are known, and to no more where they are not', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000 }),
      fc.integer({ min: 1, max: 50 }),
      (units, count) => {
        const ranks = Array.from({ length: count }, (_, rank) => rank)
        const sum = (parts: number[]) => parts.reduce((total, part) => total + part, 0)
        expect(sum(ranks.map((rank) => partOf(units, { count, rank })))).toBe(units)
        expect(sum(ranks.map(() => partOf(units, { count, rank: undefined })))).toBeLessThanOrEqual(
          units,
        )
      },
    ),
  )
})

test.each([0, -1, 1.5, '4', { count: 2, rank: 2 }, { count: 2, rank: -1 }, { count: 0, rank: 0 }])(
  'instances of %j are refused',
  (option) => {
    expect(() => checkedInstances(option as never)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  },
)

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
        const fallback = new Fallback(clock, () => ({ count, rank }))
        for (let i = 0; i <= limit; i += 1) {
          const answer = fallback.decide(consume(policySet, 'k'), 'k', undefined)
          expect(answer).toMatchObject({ source: 'local', degraded: true })
          if (answer.allowed) admitted += 1
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
          let seen = store.decide({ ...consume(policySet, 'k'), mode: 'peek' })
          for (let i = 0; i < tries; i += 1) seen = store.decide(consume(policySet, 'k'))
          const { remaining } = seen.figures[0] as (typeof seen.figures)[0]
          let admitted = 0
          for (let rank = 0; rank < count; rank += 1) {
            const fallback = new Fallback(clock, () => ({ count, rank }))
            for (let i = 0; i <= limit; i += 1)
              if (fallback.decide(consume(policySet, 'k'), 'k', seenOf(seen)).allowed) admitted += 1
          }
          expect(admitted).toBeLessThanOrEqual(remaining)
          expect(admitted).toBeGreaterThanOrEqual(remaining - count)
        },
      ),
      { numRuns: 200 },
    )
  })

  test('what was admitted is settled in the store: the total stays the limit', () => {
    const clock = fakeClock()
    const limit = 20
    const policySet = makePolicySet('p', [make(limit)])
    const store = memoryStore({ clock })
    let seen = store.decide(consume(policySet, 'k'))
    for (let i = 1; i < 8; i += 1) seen = store.decide(consume(policySet, 'k'))
    const fallback = new Fallback(clock, () => ({ count: 1, rank: 0 }))
    let admitted = 8
    for (let i = 0; i < 5; i += 1)
      if (fallback.decide(consume(policySet, 'k'), 'k', seenOf(seen)).allowed) admitted += 1
    const [entry] = fallback.takeAdmitted(() => true)
    expect(fallback.keys).toBe(0)
    const { group, units, untilUs } = entry as NonNullable<typeof entry>
    store.decide({ ...group, mode: 'reconcile', costs: units, untilUs })
    for (let i = 0; i < limit; i += 1)
      if (store.decide(consume(policySet, 'k')).allowed) admitted += 1
    expect(admitted).toBe(limit)
  })

  test('what the store had counted after all is not settled again', () => {
    const fallback = new Fallback(fakeClock(), () => ({ count: 1, rank: 0 }))
    const policySet = makePolicySet('p', [make(20)])
    for (let i = 0; i < 5; i += 1) fallback.decide(consume(policySet, 'k'), 'k', undefined)
    fallback.countedAfterAll(consume(policySet, 'k'), 'k', 3)
    expect(fallback.takeAdmitted(() => true).map(({ units }) => units)).toEqual([[2]])
  })
})

describe('what could not be settled', () => {
  const policySet = makePolicySet('p', [slidingLog({ limit: 20, window: '1m' })])
  const idOf = ({ key }: StoreRequest) => key

  test('was lost', () => {
    const fallback = new Fallback(fakeClock(), () => ({ count: 1, rank: 0 }))
    for (let i = 0; i < 5; i += 1) fallback.decide(consume(policySet, 'k'), 'k', undefined)
    fallback.decide(consume(policySet, 'other'), 'other', undefined)
    const taken = fallback.takeAdmitted(() => true)
    fallback.decide(consume(policySet, 'k'), 'k', undefined)
    fallback.putBack(taken, idOf)
    const again = fallback.takeAdmitted(() => true)
    expect(again.map(({ group, units }) => [group.key, units])).toEqual([
      ['k', [6]],
      ['other', [1]],
    ])
    expect(again.every(({ untilUs }) => untilUs.length === 1)).toBe(true)
  })

  test('and was after all, is not settled again', () => {
    const fallback = new Fallback(fakeClock(), () => ({ count: 1, rank: 0 }))
    for (let i = 0; i < 5; i += 1) fallback.decide(consume(policySet, 'k'), 'k', undefined)
    const taken = fallback.takeAdmitted(() => true)
    fallback.putBack(taken, idOf)
    fallback.decide(consume(policySet, 'k'), 'k', undefined)
    fallback.settledAfterAll(taken, idOf)
    expect(fallback.takeAdmitted(() => true).map(({ units }) => units)).toEqual([[1]])
  })
})

test.each(Object.entries(MAKERS))(
  'a share that grew within an outage gave a new budget: %s',
  (_, make) => {
    const clock = fakeClock()
    let count = 4
    const fallback = new Fallback(clock, () => ({ count, rank: 0 }))
    const policySet = makePolicySet('p', [make(100)])
    const seen = seenOf(memoryStore({ clock }).decide({ ...consume(policySet, 'k'), costs: [80] }))
    let passed = 0
    for (let i = 0; i < 100; i += 1) {
      if (i === 3) count = 1
      if (fallback.decide(consume(policySet, 'k'), 'k', seen).allowed) passed += 1
    }
    expect(passed).toBeLessThanOrEqual(6)
  },
)

test('long keys are not kept', () => {
  const fallback = new Fallback(fakeClock(), () => ({ count: 1, rank: 0 }))
  const policySet = makePolicySet('p', [slidingLog({ limit: 1, window: '1m' })])
  const long = 'x'.repeat(2_000)
  expect(fallback.decide(consume(policySet, long), 'id', undefined).allowed).toBe(true)
  expect(fallback.decide(consume(policySet, long), 'id', undefined).allowed).toBe(false)
  expect(fallback.keys).toBe(0)
})

describe('policies whose keys lie in different slots', () => {
  const [few, many] = [
    slidingLog({ name: 'few', limit: 2, window: '1m' }),
    slidingLog({ name: 'many', limit: 9, window: '1m' }),
  ]
  const policySet = makePolicySet('p', [few, many], ['deny', 'throw'])
  const group: StoreRequest = {
    ...consume(policySet, 'k'),
    ownKeys: [undefined, { key: 'o', tag: 'o' }],
  }
  const clock = fakeClock()
  const answerFor = (part: StoreRequest): StoreResult => memoryStore({ clock }).decide(part)

  test('were decided as the store was told, whatever the limiter was told', async () => {
    const told: unknown[] = []
    await decideBySlot(group, keyFormat('weir'), (part) => {
      told.push(part.policySet.whenUnavailable)
      return answerFor(part)
    })
    expect(told).toEqual([['deny'], ['throw']])
  })

  test('and one of which says that the store is away, were a plain denial', async () => {
    const away = (part: StoreRequest): StoreResult => ({
      ...answerFor(part),
      allowed: false,
      unavailableMs: 300,
    })
    const answer = await decideBySlot(group, keyFormat('weir'), (part) => {
      return part.policySet.policies[0] === many && part.mode === 'consume'
        ? away(part)
        : answerFor(part)
    })
    expect(answer).toMatchObject({ allowed: false, unavailableMs: 300 })
  })

  test('and one of which throws, left the others charged', async () => {
    const modes: string[] = []
    const asked = decideBySlot(group, keyFormat('weir'), (part) => {
      if (part.policySet.policies[0] === many) throw new StoreError('WEIR_STORE_FAILED', 'away')
      modes.push(part.mode)
      return answerFor(part)
    })
    await expect(asked).rejects.toThrow('away')
    expect(modes).toEqual(['consume', 'refund'])
  })
})

test('limiters that know a key by the same text are settled apart', () => {
  const fallback = new Fallback(fakeClock(), () => ({ count: 1, rank: 0 }))
  const policySets = ['a', 'b'].map((name) =>
    makePolicySet(name, [slidingLog({ limit: 9, window: '1m' })]),
  )
  for (const policySet of policySets) fallback.decide(consume(policySet, 'k'), 'k', undefined)
  expect(fallback.keys).toBe(2)
  expect(
    fallback.takeAdmitted(() => true).map(({ group, units }) => [group.policySet.name, units]),
  ).toEqual([
    ['a', [1]],
    ['b', [1]],
  ])
})

test('a share too small for a cost is no reason to say never', () => {
  const fallback = new Fallback(fakeClock(), () => ({ count: 4, rank: 3 }))
  const policySet = makePolicySet('p', [slidingLog({ limit: 3, window: '1m' })])
  expect(fallback.decide(consume(policySet, 'k'), 'k', undefined).figures).toMatchObject([
    { limit: 3, remaining: 0, retryAfterMs: 1_000 },
  ])
  const never = fallback.decide({ ...consume(policySet, 'k'), costs: [4] }, 'k', undefined)
  expect(never.figures).toMatchObject([{ retryAfterMs: Number.POSITIVE_INFINITY }])
})

describe('without the store', () => {
  const [one, two] = [
    slidingLog({ name: 'one', limit: 5, window: '1m' }),
    slidingLog({ name: 'two', limit: 3, window: '1m' }),
  ]
  const cause = new StoreError('WEIR_STORE_FAILED', 'away')

  function decide(whenUnavailable: ('local' | 'allow' | 'deny' | 'throw' | undefined)[]) {
    const fallback = new Fallback(fakeClock(), () => ({ count: 1, rank: 0 }))
    const policySet = makePolicySet('p', [one, two], whenUnavailable)
    const places: (readonly number[])[] = []
    const local = (group: StoreRequest, some: readonly number[]) => {
      places.push(some)
      return fallback.decide(group, group.key, undefined)
    }
    const answer = decideWithoutStore(consume(policySet, 'k'), {
      otherwise: 'local',
      cause,
      retryAfterMs: 300,
      local,
    })
    return { ...answer, places }
  }

  test('local policies beside one that is to allow were judged by what was seen of another', () => {
    expect(decide(['allow', 'local']).places).toEqual([[1]])
    expect(decide(['local', 'local']).places).toEqual([[0, 1]])
  })

  test('policies are decided locally by default', () => {
    expect(decide([undefined, undefined]).figures.map(({ remaining }) => remaining)).toEqual([4, 2])
  })

  test('one that is to deny denies for all, and says when to ask again', () => {
    expect(decide(['local', 'deny'])).toMatchObject({
      allowed: false,
      unavailableMs: 300,
      degraded: true,
    })
  })

  test('one that is to allow is left out', () => {
    expect(decide(['allow', 'local'])).toMatchObject({
      allowed: true,
      figures: [
        { remaining: 5, policy: one },
        { remaining: 2, policy: two },
      ],
    })
    expect(decide(['allow', 'allow'])).toMatchObject({ allowed: true, degraded: true })
  })

  test('one that is to throw throws the cause', () => {
    expect(() => decide(['local', 'throw'])).toThrow(cause)
  })
})

test('the recently seen are bounded, and the last to be seen are among them', () => {
  const recent = new Recent<number>(100)
  for (let i = 0; i < 10_000; i += 1) recent.set(`k${i}`, i)
  expect(Array.from({ length: 50 }, (_, i) => recent.get(`k${9_999 - i}`))).toEqual(
    Array.from({ length: 50 }, (_, i) => 9_999 - i),
  )
  expect(
    Array.from({ length: 10_000 }, (_, i) => recent.get(`k${i}`)).filter(
      (value) => value !== undefined,
    ).length,
  ).toBeLessThanOrEqual(100)
})

test('plans that came and went were kept for ever', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const fallback = new Fallback(fakeClock(), () => ({ count: 1, rank: 0 }))
  const policySets = Array.from({ length: 100 }, (_, i) => {
    const policySet = makePolicySet('p', [fixedWindow({ limit: 100 + i, window: '1m' })])
    expect(fallback.decide(consume(policySet, 'k'), 'k', undefined).allowed).toBe(true)
    return new WeakRef(policySet)
  })
  expect(fallback.takeAdmitted(() => true).length).toBe(100)
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  // Whoever decided last is remembered.
  expect(policySets.filter((policySet) => policySet.deref() !== undefined).length).toBeLessThan(5)
  fallback.close()
})
