// The numbers of one of several instances that share a policy while Redis is away.

import { expect, test } from 'vitest'
import { bucket } from '../../../src/algorithms/bucket/kernel.js'
import { tokenBucket } from '../../../src/algorithms/bucket/token-bucket.js'
import { fixedWindow } from '../../../src/algorithms/fixed-window/kernel.js'
import { slidingCounter } from '../../../src/algorithms/sliding-counter/kernel.js'
import { slidingLog } from '../../../src/algorithms/sliding-log/kernel.js'
import { Fallback } from '../../../src/layers/resilience/fallback.js'
import { makePolicySet } from '../../../src/request.js'
import { fakeClock } from '../../../src/testing/index.js'
import { virtualTime } from '../../virtual-time.js'

const away = new Error('away')

test('a share of a bucket holds its part, and fills up as slowly as there are others', () => {
  expect(bucket.share([800, 10, 16_500], 2, 4)).toEqual([3_200, 2, 16_500])
  expect(bucket.share([800, 10, 16_500], 10, 1)).toEqual([800, 10, 16_500])
})

test.each([
  [1, 3],
  [1, 10],
  [2, 5],
  [10, 30],
  [100, 250],
])(
  'a share of a bucket of %i among %i peers passes again when its wait is over',
  (capacity, count) => {
    const clock = fakeClock()
    const policy = tokenBucket({ capacity, refill: capacity, every: '10s' })
    const peers = () => ({ count, rank: 0 })
    const fallback = new Fallback({ clock, peers, time: virtualTime(), whenUnavailable: 'local' })
    const target = { policySet: makePolicySet('share', [policy]), key: 'k' }
    const request = { mode: 'consume', target, costs: [1], count: 1 } as const
    const passes = () => fallback.decide(request, undefined, away, 1_000).granted > 0
    expect(passes()).toBe(true)
    // Asked all the while, and denied.
    const fullMs = count * (10_000 / capacity)
    for (let ms = 0; ms < fullMs; ms += fullMs / 20) {
      expect(passes()).toBe(false)
      clock.advance(fullMs / 20)
    }
    clock.advance(1)
    expect(passes()).toBe(true)
    fallback.close()
  },
)

test.each([fixedWindow, slidingCounter, slidingLog])(
  'a share of a window has its part of the limit: $id',
  (kernel) => {
    expect(kernel.share([10, 60_000, 1], 3, 4)).toEqual([3, 60_000, 1])
  },
)
