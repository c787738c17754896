// A process's part of a policy while Redis is away.

import { expect, test } from 'vitest'
import { bucket } from '../../../src/algorithms/bucket/kernel.js'
import { tokenBucket } from '../../../src/algorithms/bucket/policies.js'
import { fixedWindow } from '../../../src/algorithms/fixed-window/policies.js'
import { counterOf, type Policy, withLimit } from '../../../src/algorithms/policy.js'
import { slidingCounter } from '../../../src/algorithms/sliding-counter/policies.js'
import { slidingLog } from '../../../src/algorithms/sliding-log/policies.js'
import { EPOCH_MS } from '../../../src/base/clock.js'
import { Fallback } from '../../../src/layers/resilience/fallback.js'
import { type Peers, partOf } from '../../../src/layers/resilience/peers.js'
import { quotasBy } from '../../../src/layers/resilience/quota.js'
import { makePolicySet } from '../../../src/request.js'
import { fakeClock } from '../../../src/testing/index.js'
import { virtualTime } from '../../virtual-time.js'

const away = new Error('away')
const limit = 10
const policies: readonly Policy[] = [
  tokenBucket({ capacity: limit, refill: limit, every: '1m' }),
  fixedWindow({ limit, window: '1m' }),
  slidingCounter({ limit, window: '1m' }),
  slidingLog({ limit, window: '1m' }),
]

test.each(policies)(
  'a local quota is the same policy with a part of its limit: $algorithm',
  (policy) => {
    const quota = withLimit(policy, 3)
    const [, ...others] = policy.numbers
    expect(quota).toMatchObject({ name: policy.name, limit: 3, numbers: [3, ...others] })
    expect(counterOf(quota)).toBe(counterOf(policy))
    expect(quota.signature).not.toBe(policy.signature)
  },
)

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

test('a local quota is made once for each policy set, until peers come or go', () => {
  let peers: Peers = { count: 2, rank: 0 }
  const quotaOf = quotasBy({ peers: () => peers, whenUnavailable: 'local' }, () => false)
  const policySet = makePolicySet('p', [fixedWindow({ limit, window: '1m' })])
  const first = quotaOf(policySet)
  expect(quotaOf(policySet)).toBe(first)
  peers = { count: 5, rank: 0 }
  expect(quotaOf(policySet).policySet.policies[0]?.limit).toBe(2)
  expect(quotaOf(policySet)).toBe(quotaOf(policySet))
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
