import { expect, test } from 'vitest'
import { type Decision, fixedWindow, unlimited } from '../../src/index.js'
import { copyOf, unlimitedDecision } from '../../src/limiter/decision.js'
import { decisionOf } from '../../src/limiter/pending-decision.js'
import { makePolicySet } from '../../src/request.js'

const policy = fixedWindow({ limit: 10, window: '1m' })
const target = { policySet: makePolicySet('a', [policy]), key: 'k' }

function decided(granted: number, retryAfterMs: number, unavailableMs?: number): Decision {
  const request = { mode: 'consume', target, costs: [1], count: 1 } as const
  const figures = { cost: 1, limit: 10, remaining: 5 * granted, retryAfterMs, resetAfterMs: 60_000 }
  const policies = [{ policy, ...figures }]
  const answer = { granted, nowUs: 0, untilUs: [0], policies, source: 'store' } as const
  return decisionOf(request, { ...answer, degraded: false, unavailableMs })
}

test('a copy is equal, of every kind of decision, and another object', () => {
  const decisions = [
    decided(1, 0),
    decided(0, 7),
    decided(0, Number.POSITIVE_INFINITY),
    decided(0, 0, 500),
    unlimitedDecision('l', 'k', unlimited()),
  ]
  for (const decision of decisions) {
    const copy = copyOf(decision)
    expect(copy).not.toBe(decision)
    expect(Object.entries(copy)).toEqual(Object.entries(decision))
  }
})
