// The binding rule, which both the limiter and core/http use.

import { describe, expect, test } from 'vitest'
import type { PolicyResult } from '../../src/entries/store.js'
import { fixedWindow } from '../../src/index.js'
import { bindsMore, isViolated } from '../../src/limiter/binding.js'
import { decisionOf } from '../../src/limiter/pending-decision.js'
import { makePolicySet } from '../../src/request.js'
import type { StoreResult } from '../../src/store.js'

const policy = fixedWindow({ limit: 10, window: '1m' })

function result(remaining: number, retryAfterMs = 0, limit = 10, cost = 1): PolicyResult {
  return { policy, cost, limit, remaining, retryAfterMs, resetAfterMs: 60_000 }
}

function decided(isAllowed: boolean, policies: PolicyResult[], unavailableMs?: number) {
  const target = { policySet: makePolicySet('a', [policy]), key: 'k' }
  const request = { mode: 'consume', target, costs: [1], count: 1 } as const
  const answer: StoreResult = {
    granted: isAllowed ? 1 : 0,
    nowUs: 0,
    untilUs: [0],
    policies,
    source: 'store',
    degraded: false,
    ...(unavailableMs !== undefined && { unavailableMs }),
  }
  return decisionOf(request, answer)
}

describe('of two policies or decisions', () => {
  test.each([
    ['what denied goes first', result(0, 1), true, result(0, 9), false, true],
    ['what did not deny goes last', result(0, 9), false, result(5, 1), true, false],
    ['of those that denied the longer wait', result(5, 9), true, result(0, 8), true, true],
    ['and not the shorter', result(0, 8), true, result(5, 9), true, false],
    ['else the smaller share', result(4), false, result(3, 0, 5), false, true],
    ['and not the larger', result(3, 0, 5), false, result(4), false, false],
    ['of equals neither', result(5), false, result(1, 0, 2), false, false],
    ['a limit of 0 has nothing left', result(0, 0, 0), false, result(1), false, true],
    [
      'without a limit all is left',
      result(9),
      false,
      result(Number.POSITIVE_INFINITY, 0, Number.POSITIVE_INFINITY),
      false,
      true,
    ],
  ])('%s', (_, one, oneDenies, other, otherDenies, expected) => {
    expect(bindsMore(one, oneDenies, other, otherDenies)).toBe(expected)
  })
})

test('a policy is violated by a cost above what remains', () => {
  expect(isViolated(result(1, 0, 10, 2))).toBe(true)
  expect(isViolated(result(2, 0, 10, 2))).toBe(false)
})

test('a decision that the store could not make reports the smallest share, and its own wait', () => {
  const unavailable = decided(false, [result(9), result(8), result(9)], 500)
  expect(unavailable).toMatchObject({
    reason: 'store-unavailable',
    remaining: 8,
    retryAfterMs: 500,
  })
})
