// What was last seen, and what a result with less in use means.

import { describe, expect, test } from 'vitest'
import type { Policy } from '../../../src/algorithms/policy.js'
import { fixedWindow, slidingLog, tokenBucket } from '../../../src/index.js'
import { LastSeen } from '../../../src/layers/resilience/last-seen.js'
import { SeenTargets } from '../../../src/layers/resilience/seen-targets.js'
import { makePolicySet, resultOf } from '../../../src/request.js'
import type { Mode, StoreRequest, StoreResult } from '../../../src/store.js'

const START_US = 1_750_000_000_000_000
const window = fixedWindow({ limit: 10, window: '1m' })
const someSet = makePolicySet('some', [window])

function targetOf(key: string) {
  return { policySet: someSet, key }
}

function requestOf(policy: Policy, mode: Mode, cost = 1): StoreRequest {
  const target = { policySet: makePolicySet('test', [policy]), key: 'k' }
  return { mode, target, costs: [cost], count: 1 }
}

/** A result after `ms`, with this much left, and this long until everything is over. */
function resultAt(request: StoreRequest, ms: number, left: number, resetMs: number): StoreResult {
  const readings = [{ left, waitMs: 0, resetUs: resetMs * 1_000 }]
  return resultOf(request, 1, START_US + ms * 1_000, readings)
}

describe('what was last seen', () => {
  const limit = 10
  const policy = fixedWindow({ limit, window: '1m' })
  const seenAt = (remaining: number, nowMs: number, untilMs: number): StoreResult => ({
    granted: 1,
    nowUs: nowMs * 1_000,
    untilUs: [untilMs * 1_000],
    policies: [
      { policy, cost: 1, limit, remaining, retryAfterMs: 0, resetAfterMs: untilMs - nowMs },
    ],
    source: 'store',
    degraded: false,
  })

  test('is restored', () => {
    const seen = new LastSeen(1, 100_000)
    for (let i = 0; i < 1_000; i += 1)
      seen.note(targetOf(`k${i}`), seenAt(i % 10, i, 60_000), 'consume')
    const known = Array.from({ length: 1_000 }, (_, i) => seen.get(targetOf(`k${i}`)))
    known.forEach((each, i) => {
      expect(each).toEqual({ nowUs: i * 1_000, remaining: [i % 10], untilUs: [60_000_000] })
    })
    seen.forget(targetOf('k999'))
    expect(seen.get(targetOf('k999'))).toBe(undefined)
  })

  test('is restored only for its limiter and policies, whoever else has the same key', () => {
    const seen = new LastSeen(1, 100_000)
    const others = [
      makePolicySet('other', [policy]),
      makePolicySet('some', [fixedWindow({ limit: limit + 1, window: '1m' })]),
    ]
    seen.note(targetOf('k'), seenAt(3, 0, 60_000), 'consume')
    for (const policySet of others) expect(seen.get({ policySet, key: 'k' })).toBe(undefined)
    expect(seen.get(targetOf('k'))).toMatchObject({ remaining: [3] })
  })

  test('is not what a peek or a request for no units shows, which would hide a loss', () => {
    const target = targetOf('k')
    for (const [mode, cost] of [
      ['peek', 1],
      ['consume', 0],
    ] as const) {
      const seen = new SeenTargets(1_000)
      const request = (cost: number, mode: 'peek' | 'consume'): StoreRequest => {
        return { mode, target, costs: [cost], count: 1 }
      }
      seen.noted(request(1, 'consume'), seenAt(3, 0, 60_000))
      expect(seen.noted(request(cost, mode), seenAt(limit, 10_000, 0))).toBe(undefined)
      const lost = seen.noted(request(1, 'consume'), seenAt(limit - 1, 20_000, 80_000))
      expect(lost).toMatchObject({ remaining: [3] })
    }
  })

  test.each([
    ['nothing but this request is in use, too early', seenAt(9, 10_000, 70_000), true],
    ['what was in use is over', seenAt(9, 60_000, 120_000), false],
    ['what was in use is all but over', seenAt(9, 59_960, 120_000), false],
    ['more is in use', seenAt(3, 10_000, 60_000), false],
    ['a denial', { ...seenAt(9, 10_000, 70_000), granted: 0 }, false],
  ])('shows a loss: %s', (_, after, expected) => {
    const seen = new LastSeen(1, 100_000)
    seen.note(targetOf('k'), seenAt(4, 1, 60_000), 'consume')
    expect(seen.note(targetOf('other'), after, 'consume')).toBe(undefined)
    expect(seen.note(targetOf('k'), after, 'consume')).toEqual(
      expected ? { nowUs: 1_000, remaining: [4], untilUs: [60_000_000] } : undefined,
    )
  })

  const bucket = tokenBucket({ capacity: 10, refill: 1, every: '1m' })
  const log = slidingLog({ limit: 10, window: '1m' })

  test.each([
    ['a window', window],
    ['a bucket', bucket],
    ['a log', log],
  ])('shows a loss of %s from which the request takes nothing', (_, other) => {
    const policySet = makePolicySet('two', [window, other])
    const target = { policySet, key: 'k' }
    const result = (costs: number[], ms: number, left: [number, number], resetMs: number) => {
      const readings = left.map((each, i) => {
        return { left: each, waitMs: 0, resetUs: i === 0 || each < 10 ? resetMs * 1_000 : 0 }
      })
      const request: StoreRequest = { mode: 'consume', target, costs, count: 1 }
      return resultOf(request, 1, START_US + ms * 1_000, readings)
    }
    const seen = new LastSeen(2, 100_000)
    expect(seen.note(target, result([1, 4], 0, [9, 6], 60_000), 'consume')).toBe(undefined)
    expect(seen.note(target, result([1, 0], 100, [8, 6], 59_900), 'consume')).toBe(undefined)
    const lost = seen.note(target, result([1, 0], 200, [7, 10], 59_800), 'consume')
    expect(lost?.remaining).toEqual([8, 6])
  })

  test('was forgotten when a refund found that the key was lost', () => {
    const seen = new LastSeen(1, 100_000)
    seen.note(targetOf('k'), seenAt(4, 0, 60_000), 'consume')
    seen.note(targetOf('k'), seenAt(10, 10_000, 10_000), 'refund')
    expect(seen.get(targetOf('k'))?.remaining).toEqual([4])
    // More than was given back: what was charged in between may be lost.
    seen.note(targetOf('k'), seenAt(6, 10_000, 60_000), 'refund')
    expect(seen.get(targetOf('k'))?.remaining).toEqual([4])
    seen.note(targetOf('k'), seenAt(5, 10_000, 60_000), 'refund')
    expect(seen.get(targetOf('k'))?.remaining).toEqual([5])
  })
})

describe('what the store says about what was reconciled', () => {
  const bucket = tokenBucket({ capacity: 10, refill: 1, every: '1m' })
  const log = slidingLog({ limit: 10, window: '1m' })

  test.each<[string, Policy, [cost: number, left: number], [cost: number, left: number], object]>([
    ['is remembered', window, [1, 9], [3, 6], { left: 6, isLost: false }],
    ['shows that a window was lost', window, [5, 2], [3, 7], { left: 2, isLost: true }],
    ['shows that a bucket was lost', bucket, [5, 2], [3, 7], { left: 2, isLost: true }],
    [
      'does not show whether what is no longer in a log was lost or is over, and must not hide it',
      log,
      [5, 2],
      [3, 7],
      { left: 2, isLost: false },
    ],
    [
      'is no loss if what was reconciled counts no more',
      log,
      [1, 9],
      [1, 9],
      { left: 9, isLost: false },
    ],
  ])('%s', (_, policy, [cost, left], reconciled, expected) => {
    const seen = new LastSeen(1, 100_000)
    const note = (mode: Mode, cost: number, ms: number, left: number) => {
      const resetMs = policy === bucket ? (10 - left) * 60_000 : 60_000 - ms
      const result = resultAt(requestOf(policy, mode, cost), ms, left, resetMs)
      return seen.note(targetOf('k'), result, mode)
    }
    note('consume', cost, 0, left)
    const lost = note('reconcile', reconciled[0], 100, reconciled[1])
    const [remaining] = seen.get(targetOf('k'))?.remaining ?? []
    expect({ left: remaining, isLost: lost !== undefined }).toEqual(expected)
  })

  test('is ignored if it is older than what was seen', () => {
    const seen = new LastSeen(1, 100_000)
    for (const [mode, cost, ms, left] of [
      ['consume', 1, 100, 5],
      ['reconcile', 3, 50, 6],
    ] as const)
      seen.note(targetOf('k'), resultAt(requestOf(window, mode, cost), ms, left, 60_000 - ms), mode)
    expect(seen.get(targetOf('k'))?.remaining).toEqual([5])
  })

  test('for a denial does not hide that a key was lost either', () => {
    const seen = new LastSeen(1, 100_000)
    const note = (mode: Mode, cost: number, ms: number, left: number, granted: number) => {
      const result = resultAt(requestOf(window, mode, cost), ms, left, 60_000 - ms)
      return seen.note(targetOf('k'), { ...result, granted }, mode)
    }
    note('consume', 10, 0, 0, 1)
    // Redis is back with seven in use.
    expect(note('consume', 5, 100, 3, 0)).toBeUndefined()
    expect(note('consume', 1, 200, 2, 1)?.remaining).toEqual([0])
  })
})
