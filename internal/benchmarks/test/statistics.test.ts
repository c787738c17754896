import { expect, test } from 'vitest'
import { median, quantile, spread } from '../src/statistics.js'

test('a median and quartiles are interpolated between neighbours', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 2, 3])).toBe(2.5)
  expect(quantile([1, 2, 3, 4, 5], 0.25)).toBe(2)
  expect(quantile([10], 0.75)).toBe(10)
})

test('a spread is a share of the median', () => {
  expect(spread([1, 2, 3, 4, 5])).toBeCloseTo(2 / 3)
  expect(spread([7, 7, 7])).toBe(0)
})
