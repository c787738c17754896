// A restore of what was last seen changes nothing that is intact. (Units of sliding windows and
// counters come back one by one, so of them this holds at once: only a canary can tell whether what
// is missing later was lost.) If something was lost, the result is no less than what was seen, and
// no more than what was seen and what was taken since. A restore is idempotent.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Kernel } from '../../../src/algorithms/algorithm.js'
import {
  budget,
  fixedWindow,
  memoryStore,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.js'
import type { Loss } from '../../../src/layers/resilience/canary.js'
import { restoring } from '../../../src/layers/resilience/restoring.js'
import { makePolicySet } from '../../../src/request.js'
import type { StoreRequest, StoreResult } from '../../../src/store.js'
import { fakeClock } from '../../../src/testing/index.js'

const LIMIT = 100
const policies: Policy[] = [
  tokenBucket({ capacity: LIMIT, refill: LIMIT, every: '10s' }),
  tokenBucket({ capacity: LIMIT, refill: 7, every: '1s' }),
  fixedWindow({ limit: LIMIT, window: '10s' }),
  fixedWindow({ limit: LIMIT, window: '10s', aligned: true }),
  slidingLog({ limit: LIMIT, window: '10s' }),
  slidingWindow({ limit: LIMIT, window: '10s' }),
  slidingCounter({ limit: LIMIT, window: '10s' }),
]

/** A key of one policy in a store. */
function counterOf(policy: Policy, clock = fakeClock()) {
  const store = memoryStore({ clock })
  const target = { policySet: makePolicySet('restore', [policy]), key: 'k' }
  const decide = (mode: StoreRequest['mode'], cost: number) =>
    store.decide({ mode, target, costs: [cost], count: 1 })
  return {
    consume: (cost: number) => decide('consume', cost),
    left: () => decide('peek', 1).policies[0]?.remaining as number,
    /** Returns whether it changed anything. */
    restore: ({ policies, untilUs, nowUs }: StoreResult, after: Partial<Loss> = {}) => {
      const remaining = policies.map((each) => each.remaining)
      const loss = { sinceUs: nowUs, atUs: nowUs + 1, isSure: true, ...after }
      const request = restoring(target, { remaining, untilUs, nowUs }, loss) as StoreRequest
      return store.decide(request).granted > 0
    },
  }
}

const steps = fc.array(
  fc.record({
    waitMs: fc.integer({ min: 0, max: 6_000 }),
    cost: fc.integer({ min: 1, max: LIMIT / 2 }),
  }),
  { minLength: 1, maxLength: 12 },
)

describe.each(policies)('what was last seen of $name', (policy) => {
  const { drains, hasOneEnd } = (policy.kernel as Kernel).traits
  const tells = drains || hasOneEnd

  test(`is restored without effect if it is intact${tells ? ', however late' : ''}`, () => {
    fc.assert(
      fc.property(steps, (walk) => {
        const clock = fakeClock()
        const counter = counterOf(policy, clock)
        const seen: StoreResult[] = []
        for (const { waitMs, cost } of walk) {
          clock.advance(waitMs + 0.3)
          seen.push(counter.consume(cost))
          const before = counter.left()
          for (const result of tells ? seen : seen.slice(-1))
            expect(counter.restore(result)).toBe(false)
          expect(counter.left()).toBe(before)
        }
      }),
    )
  })

  test('is restored once if it was lost, with at most what was taken since in addition', () => {
    fc.assert(
      fc.property(steps, steps, (walk, later) => {
        const clock = fakeClock()
        const [before, after] = [counterOf(policy, clock), counterOf(policy, clock)]
        let seen = before.consume(1)
        for (const { waitMs, cost } of walk) {
          clock.advance(waitMs + 0.3)
          seen = before.consume(cost)
        }
        let taken = 0
        for (const { waitMs, cost } of later) {
          clock.advance(waitMs / 20)
          if (after.consume(cost).granted > 0) taken += cost
        }
        const left = after.left()
        const used = LIMIT - (seen.policies[0]?.remaining as number)
        after.restore(seen)
        const restored = after.left()
        expect(restored).toBeLessThanOrEqual(left)
        expect(restored).toBeGreaterThanOrEqual(Math.max(0, LIMIT - used - taken))
        expect(after.restore(seen)).toBe(false)
        expect(after.left()).toBe(restored)
      }),
    )
  })
})

test('estimates that have expired are not spent where nobody knows of a loss, or only that of another policy; otherwise, what was seen of them is', () => {
  const clock = fakeClock()
  const counter = counterOf(budget({ limit: LIMIT, holdTimeout: '1s' }), clock)
  const seen = counter.consume(30)
  clock.advance(2_000)
  for (const loss of [{ isSure: false }, { isOfKey: true }] as const)
    expect([counter.restore(seen, loss), counter.left()]).toEqual([false, LIMIT])
  expect([counter.restore(seen), counter.left()]).toEqual([true, LIMIT - 30])
})
