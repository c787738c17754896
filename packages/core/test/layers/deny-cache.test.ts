// How long a denial by Redis is remembered, on the process's own clock: counted from when the call
// was sent, for no longer than Redis is sure to deny.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { gcra } from '../../src/index.js'
import { Denials } from '../../src/layers/deny-cache.js'
import { makePolicySet, type StoreRequest, type StoreResult } from '../../src/store.js'

const policy = gcra({ limit: 2, period: '1s' })
const policySet = makePolicySet('p', [policy])
const group: StoreRequest = { policySet, key: 'k', mode: 'consume', costs: [1] }
const DECIDED_US = Date.UTC(2026, 0, 1) * 1_000

let nowMs = 1_000
beforeEach(() => {
  nowMs = 1_000
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
})
afterEach(() => vi.restoreAllMocks())

function denial(retryAfterMs: number): StoreResult {
  const figures = [{ policy, cost: 1, limit: 2, remaining: 0, retryAfterMs, resetAfterMs: 5_000 }]
  return {
    allowed: false,
    nowUs: DECIDED_US,
    untilUs: [0],
    figures,
    source: 'store',
    degraded: false,
  }
}

/** A denial that was sent at 1,000 ms and read 4.5 ms later. */
function denied(retryAfterMs: number): Denials {
  const denials = new Denials(() => undefined)
  nowMs = 1_004.5
  denials.noted('k', group, denial(retryAfterMs), 1_000)
  return denials
}

test('it is remembered from when the call was sent until a ms before its wait is over, to the microsecond', () => {
  const denials = denied(10)
  expect(denials.answer('k', group)).toMatchObject({ allowed: false, source: 'local' })
  nowMs = 1_009
  expect(denials.answer('k', group)).toBeDefined()
  nowMs = 1_009.002
  expect(denials.answer('k', group)).toBeUndefined()
})

test('no wait that it tells is too short: they are counted down from when the answer was read', () => {
  const denials = denied(100)
  nowMs = 1_004.5 + 30.9
  expect(denials.answer('k', group)?.figures).toMatchObject([
    { retryAfterMs: 70, resetAfterMs: 4_970 },
  ])
})

test.each([
  [1, undefined],
  [2, expect.objectContaining({ allowed: false })],
])('of a wait of %d ms, it is remembered: %j', (waitMs, then) => {
  const denials = new Denials(() => undefined)
  denials.noted('k', group, denial(waitMs), 1_000)
  nowMs = 1_000.5
  expect(denials.answer('k', group)).toEqual(then)
})

test('it is remembered for no more than a second', () => {
  const denials = denied(60_000)
  nowMs = 1_999.999
  expect(denials.answer('k', group)).toBeDefined()
  nowMs = 2_000
  expect(denials.answer('k', group)).toBeUndefined()
})
