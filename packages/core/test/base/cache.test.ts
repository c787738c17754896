import { expect, test } from 'vitest'
import { Recent } from '../../src/base/cache.js'

test('the recently seen are bounded, and include the last to be seen', () => {
  const recent = new Recent<number>(100)
  for (let i = 0; i < 10_000; i += 1) recent.set(`k${i}`, i)
  expect(Array.from({ length: 50 }, (_, i) => recent.get(`k${9_999 - i}`))).toEqual(
    Array.from({ length: 50 }, (_, i) => 9_999 - i),
  )
  const known = Array.from({ length: 10_000 }, (_, i) => recent.get(`k${i}`))
  expect(known.filter((value) => value !== undefined).length).toBeLessThanOrEqual(100)
})
