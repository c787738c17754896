// The numbers of one of several instances that share a policy while Redis is away.

import { expect, test } from 'vitest'
import { bucket } from '../src/kernels/bucket.js'
import { fixedWindow } from '../src/kernels/fixed-window.js'
import { slidingCounter } from '../src/kernels/sliding-counter.js'
import { slidingLog } from '../src/kernels/sliding-log.js'

test('a share of a bucket holds its part, fills up as slowly as there are others, and is as far ahead at the most', () => {
  expect(bucket.share([800, 10, 16_500], 3, 4)).toEqual([3_200, 3, 16_500])
  expect(bucket.share([800, 10, 16_500], 10, 1)).toEqual([800, 10, 16_500])
})

test.each([fixedWindow, slidingCounter, slidingLog])(
  'a share of a window has its part of the limit: $id',
  (kernel) => {
    expect(kernel.share([10, 60_000, 1], 3, 4)).toEqual([3, 60_000, 1])
  },
)
