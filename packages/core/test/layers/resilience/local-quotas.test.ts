// A process's part of a policy while Redis is away.

import { expect, test } from 'vitest'
import { bucket } from '../../../src/algorithms/bucket/kernel.js'
import { tokenBucket } from '../../../src/algorithms/bucket/policies.js'
import { type Policy, withLimit } from '../../../src/algorithms/policy.js'
import { EPOCH_MS } from '../../../src/base/clock.js'
import { Fallback } from '../../../src/layers/resilience/fallback.js'
import { partOf } from '../../../src/layers/resilience/peers.js'
import { makePolicySet } from '../../../src/request.js'
import { fakeClock } from '../../../src/testing/index.js'
import { virtualTime } from '../../virtual-time.js'

const away = new Error('away')
test('a local quota of a bucket never comes back sooner than the whole bucket', () => {
  const resetUsOf = ({ numbers }: Policy): number => {
    const scratch = bucket.prepare(numbers)
    bucket.read(scratch, undefined, 0, EPOCH_MS * 1_000)
    bucket.take(scratch, scratch.limit)
    return bucket.resetAfterUs(scratch)
  }
  for (let capacity = 2; capacity <= 50; capacity += 1) {
    const whole = tokenBucket({ capacity, refill: 7, every: '1s' })
    for (let part = 1; part < capacity; part += 1) {
      const quota = withLimit(whole, part)
      expect(resetUsOf(quota), `${part} of ${capacity}`).toBeGreaterThanOrEqual(resetUsOf(whole))
    }
  }
})

test.each([
  [1, 3],
  [1, 10],
  [2, 5],
  [10, 30],
  [100, 250],
])(
  'a local quota of a bucket of %i among %i peers passes again when its wait is over',
  (capacity, count) => {
    const clock = fakeClock()
    const policy = tokenBucket({ capacity, refill: capacity, every: '10s' })
    const peers = () => ({ count, rank: 0 })
    const fallback = new Fallback({
      clock,
      peers,
      time: virtualTime(),
      whenUnavailable: 'local',
      maxLocalKeys: 1_000,
    })
    const target = { policySet: makePolicySet('share', [policy]), key: 'k' }
    const request = { mode: 'consume', target, costs: [1], count: 1 } as const
    const passes = () => fallback.decide(request, undefined, away, 1_000).granted > 0
    for (let passed = 0; passes(); passed += 1) expect(passed).toBeLessThan(capacity)
    // Requested and denied all the time. All parts together have the rate of the whole.
    const fullMs = 10_000 / partOf(capacity, peers())
    for (let ms = 0; ms < fullMs; ms += fullMs / 20) {
      expect(passes()).toBe(false)
      clock.advance(fullMs / 20)
    }
    clock.advance(1)
    expect(passes()).toBe(true)
    fallback.close()
  },
)
