import { describe, expect, test } from 'vitest'
import { EPOCH_MS } from '../../src/base/clock.js'
import {
  concurrency,
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
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

test('a copy of every kind of decision is equal, and another object', () => {
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

describe('used and resetTime, which other limiters have', () => {
  const AT_MS = EPOCH_MS + 1_000 * 86_400_000

  function limiterAt(policy: Policy): RateLimiter {
    const clock = { nowUs: () => AT_MS * 1_000 + 500 }
    return new RateLimiter({ name: 'used', store: memoryStore({ clock }), policy, shared: true })
  }

  test('are those of the binding policy, whatever was requested, by the clock of the store', async () => {
    const limiter = limiterAt(fixedWindow({ limit: 5, window: '1m' }))
    const ends = new Date(AT_MS + 60_000)
    const slots = limiterAt(concurrency({ limit: 5, holdTimeout: '1m' }))
    for (const [decision, used] of [
      [await limiter.consume('k'), 1],
      [await limiter.consume('k', { cost: 2 }), 3],
      [await limiter.wait('k', { timeout: 1 }), 4],
      [await limiter.consumeUpTo('k', 5), 5],
      [await limiter.consume('k'), 5],
      [await limiter.consumeUpTo('k', 5), 5],
      [await limiter.peek('k'), 5],
    ] as const) {
      expect(decision.used).toBe(used)
      expect(decision.resetTime).toEqual(ends)
    }
    expect((await slots.acquire('k')).used).toBe(1)
  })

  test('resetTime is not before a bucket is empty of what was taken', async () => {
    const limiter = limiterAt(tokenBucket({ capacity: 5, refill: 5, every: '1m' }))
    expect((await limiter.consume('k')).resetTime).toEqual(new Date(AT_MS + 12_001))
  })

  test('are 0 and undefined if nothing limits', async () => {
    const { used, resetTime } = await limiterAt(unlimited()).consume('k')
    expect([used, resetTime]).toEqual([0, undefined])
  })

  test('are not part of what is logged', async () => {
    const limiter = limiterAt(fixedWindow({ limit: 1, window: '1m' }))
    for (const decision of [await limiter.consume('k'), await limiter.consume('k')]) {
      expect(Object.keys(decision)).not.toEqual(expect.arrayContaining(['used']))
      expect(JSON.stringify(decision)).not.toContain('resetTime')
    }
  })
})
