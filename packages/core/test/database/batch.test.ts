import { describe, expect, test } from 'vitest'
import { type BatchRequest, batchOf, type RowChange } from '../../src/entries/store.js'
import {
  fixedWindow,
  gcra,
  type MemoryStore,
  memoryStore,
  type Policy,
  slidingLog,
} from '../../src/index.js'
import { makePolicySet } from '../../src/request.js'
import type { StoreResult, Target } from '../../src/store.js'
import { policyExamples } from '../../src/testing/algorithms.js'
import { fakeClock } from '../../src/testing/index.js'

const NOW_US = Date.UTC(2026, 0, 1) * 1_000
const minute = fixedWindow({ name: 'minute', limit: 3, window: '1m' })

type Table = Map<string, readonly number[]>

function targetOf(key: string, ...policies: Policy[]): Target {
  return { policySet: makePolicySet('api', policies), key }
}

function consume(target: Target, cost = 1) {
  const costs = target.policySet.policies.map(() => cost)
  return { mode: 'consume', target, costs, count: 1 } as const
}

function writeTo(table: Table, changes: readonly RowChange[]): void {
  for (const { key, numbers } of changes) {
    if (numbers === undefined) table.delete(key)
    else table.set(key, numbers)
  }
}

describe('the keys of a batch', () => {
  test('are those of all counters, each once and in one order, whatever the order of requests', () => {
    const hour = slidingLog({ name: 'hour', limit: 3, window: '1h' })
    const a = consume(targetOf('a', minute, hour))
    const b = consume(targetOf('b', hour, minute))
    const { keys } = batchOf([a, b, a])
    expect(keys).toEqual([
      'api:hour:log1-1h:a',
      'api:hour:log1-1h:b',
      'api:minute:fixed1-1m:a',
      'api:minute:fixed1-1m:b',
    ])
    expect(batchOf([b, a]).keys).toEqual(keys)
  })

  test('contain marks only where units may be given back, restored or forgotten', () => {
    const target = targetOf('a', minute)
    const one = { target, costs: [1], count: 1 }
    const marksOf = (request: BatchRequest) =>
      batchOf([request]).keys.filter((key) => key.endsWith('#mark')).length
    const plain = ['consume', 'peek', 'penalty', 'settle', 'reconcile'] as const
    expect(plain.map((mode) => marksOf({ ...one, mode }))).toEqual([0, 0, 0, 0, 0])
    expect(marksOf({ ...one, mode: 'settle', costs: [-1] })).toBe(1)
    const marked = ['refund', 'cancel', 'restore', 'reset'] as const
    expect(marked.map((mode) => marksOf({ ...one, mode }))).toEqual([1, 1, 1, 1])
  })

  test('are short printable ASCII, and different for different keys', () => {
    const signs = Array.from({ length: 700 }, (_, code) => String.fromCharCode(code))
    const hard = ['\ud800', '\udfff', '\ufffd', '%0000', '#mark', 'a#mark', 'a:b', '\n["a","b"]']
    const long = ['é'.repeat(256), `${'é'.repeat(255)}e`]
    const texts = [...signs, ...hard, ...long]
    const keys = texts.map((text) => batchOf([consume(targetOf(text, minute))]).keys[0] as string)
    expect(new Set(keys).size).toBe(new Set(texts).size)
    for (const key of keys) expect(key).toMatch(/^[!-~]{1,500}$/)
  })
})

describe('a batch', () => {
  test('is decided again when a transaction is repeated', () => {
    for (const { label, limit, make, exempt } of policyExamples) {
      const target = targetOf('a', make(limit))
      const refund = { ...consume(target), mode: 'refund' } as const
      const batch = batchOf([consume(target), consume(target), refund])
      const table: Table = new Map()
      writeTo(table, batchOf([consume(target)]).decide(table, NOW_US - 1_000).changes)
      const first = batch.decide(table, NOW_US)
      expect(batch.decide(table, NOW_US), label).toEqual(first)
      // There is also a mark if a refund by the key alone gives anything back.
      expect(first.changes.length).toBe(exempt?.includes('by-key') ? 1 : 2)
    }
  })

  test('changes nothing if it only peeks, or denies', () => {
    const target = targetOf('a', minute)
    const peek = { ...consume(target), mode: 'peek' } as const
    expect(batchOf([peek, consume(target, 4)]).decide(new Map(), NOW_US).changes).toEqual([])
    const reset = { mode: 'reset', target } as const
    const { changes } = batchOf([consume(target), reset]).decide(new Map(), NOW_US)
    expect(changes.map(({ key }) => key)).toEqual(['api:minute:fixed1-1m:a#mark'])
  })

  test.each([
    ['texts', ['3', '4']],
    ['no whole numbers', [0.5, 1]],
    ['no numbers', [Number.NaN, 1]],
    ['too few', [1]],
    ['a text', '[1,2]'],
    ['null', null],
  ])('leaves a row of %s as it is: its requests fail, and no others', (_, numbers) => {
    const log = slidingLog({ name: 'log', limit: 3, window: '1m' })
    const requests = [consume(targetOf('a', log, minute)), consume(targetOf('b', minute))]
    const rows = new Map([['api:minute:fixed1-1m:a', numbers as readonly number[]]])
    const { results, changes } = batchOf(requests).decide(rows, NOW_US)
    expect(results[0]).toMatchObject({ name: 'StoreError', code: 'WEIR_FOREIGN_KEY' })
    expect(String(results[0])).toContain('api:minute:fixed1-1m:a')
    expect(results[1]).toMatchObject({ granted: 1 })
    expect(changes.map(({ key }) => key)).toEqual(['api:minute:fixed1-1m:b'])
    const marked = new Map([['api:minute:fixed1-1m:a#mark', numbers as readonly number[]]])
    const reset = { mode: 'reset', target: targetOf('a', minute) } as const
    expect(batchOf([reset]).decide(marked, NOW_US)).toMatchObject({
      results: [{ code: 'WEIR_FOREIGN_KEY' }],
      changes: [],
    })
  })

  test.each([[[2, 2, 0, 1, 1, 2, 2]], [[0, 2, 0, 1, 1]], [[0, 2, 0]], [[]]])(
    'takes %j for no log',
    (numbers) => {
      const target = targetOf('a', slidingLog({ name: 'log', limit: 3, window: '1m' }))
      const rows = new Map([['api:log:log1-1m:a', numbers]])
      const [result] = batchOf([consume(target)]).decide(rows, NOW_US).results
      expect(result).toMatchObject({ code: 'WEIR_FOREIGN_KEY' })
    },
  )

  test('accepts only whole microseconds as the time', () => {
    const batch = batchOf([consume(targetOf('a', minute))])
    for (const now of [String(NOW_US), BigInt(NOW_US), NOW_US / 1_000, NOW_US + 0.5, undefined])
      expect(() => batch.decide(new Map(), now as number)).toThrow(
        expect.objectContaining({ code: 'WEIR_INVALID_CLOCK' }),
      )
  })
})

describe('all modes, in batches of several requests', () => {
  const turns = gcra({ name: 'turns', limit: 7, period: '1s', burst: 3, maxWait: '1s' })
  const examples = [
    ...policyExamples.map(({ label, limit, make }) => [label, make(limit)] as const),
    ['bucket with turns', turns] as const,
  ]

  test.each(examples)('%s: answer as the memory store does', (_, policy) => {
    const clock = fakeClock()
    const memory = memoryStore({ clock })
    const table: Table = new Map()
    walk(
      policy,
      (requests) => {
        const { results, changes } = batchOf(requests).decide(table, clock.nowUs())
        writeTo(table, changes)
        const expected = requests.map((request) => inMemory(memory, request))
        for (const [i, result] of expected.entries())
          if (result !== undefined) expect(results[i], requests[i]?.mode).toEqual(result)
        return results as StoreResult[]
      },
      clock,
    )
    memory.close()
  })

  test.each(examples)('%s: a row that no longer matters may be deleted', (_, policy) => {
    const clock = fakeClock()
    const kept: Table = new Map()
    const swept: Table = new Map()
    const untils = new Map<string, number>()
    let deleted = 0
    walk(
      policy,
      (requests) => {
        const nowUs = clock.nowUs()
        for (const [key, untilMs] of untils) {
          if (untilMs * 1_000 > nowUs) continue
          deleted += Number(swept.delete(key))
          untils.delete(key)
        }
        const batch = batchOf(requests)
        const { results, changes } = batch.decide(kept, nowUs)
        writeTo(kept, changes)
        const other = batch.decide(swept, nowUs)
        writeTo(swept, other.changes)
        for (const { key, untilMs } of other.changes) untils.set(key, untilMs)
        expect(other.results).toEqual(results)
        return results as StoreResult[]
      },
      clock,
    )
    expect(deleted).toBeGreaterThan(0)
  })

  function inMemory(memory: MemoryStore, request: BatchRequest): StoreResult | undefined {
    if (request.mode !== 'reset') return memory.decide(request)
    memory.reset(request.target)
    return undefined
  }

  function walk(
    policy: Policy,
    decided: (requests: BatchRequest[]) => StoreResult[],
    clock: ReturnType<typeof fakeClock>,
  ): void {
    let seed = 7
    const pick = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      return Math.floor((seed / 2 ** 31) * below)
    }
    const other = fixedWindow({ name: 'other', limit: 9, window: Math.ceil(policy.windowMs) })
    const sets = [makePolicySet('api', [policy]), makePolicySet('api', [other, policy])]
    const receipts: { target: Target; costs: number[]; result: StoreResult }[] = []
    for (let step = 0; step < 300; step += 1) {
      const requests = Array.from({ length: 1 + pick(4) }, (): BatchRequest => {
        const policySet = sets[pick(2)] as (typeof sets)[number]
        const fresh = { policySet, key: `k${pick(3)}` }
        const { target, costs, result } = receipts[pick(receipts.length)] ?? {
          target: fresh,
          costs: policySet.policies.map(() => 1),
        }
        const charge = { untilUs: result?.untilUs, seenUs: result?.nowUs }
        const whole = policySet.policies.map(() => pick(4))
        const consumed = { mode: 'consume', target: fresh, costs: whole, count: 1 } as const
        const since = { target, costs, count: 1, ...charge } as const
        switch (pick(14)) {
          case 0:
            return { ...consumed, mode: 'peek' }
          case 1:
            return { ...consumed, mode: 'penalty' }
          case 2:
            return { ...since, mode: 'refund' }
          case 3:
            return { ...since, mode: 'settle', costs: costs.map((cost) => pick(4) - cost) }
          case 4:
            return { ...since, mode: 'cancel' }
          case 5:
            return { ...since, mode: 'reconcile', seenUs: undefined }
          case 6:
            return { ...since, mode: 'restore' }
          case 7:
            return pick(3) > 0 ? consumed : { mode: 'reset', target }
          case 8:
            return { ...consumed, count: 4, atLeast: 1 + pick(3) }
          case 9:
            return { ...consumed, atLeast: 1, maxWaitMs: pick(1_000) }
          case 10:
            return { ...consumed, keep: whole.map(() => pick(3)) }
          default:
            return consumed
        }
      })
      const results = decided(requests)
      for (const [i, request] of requests.entries()) {
        const result = results[i] as StoreResult
        if (request.mode === 'consume' && result.granted > 0)
          receipts.unshift({ target: request.target, costs: [...request.costs], result })
      }
      receipts.length = Math.min(receipts.length, 6)
      clock.advance(pick(3) === 0 ? pick(policy.windowMs) : pick(policy.windowMs / 20))
    }
  }
})
