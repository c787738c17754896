import { expect, test } from 'vitest'
import { duration, slidingWindow } from '../../src/index.js'

test('a text from configuration becomes a duration, or an error that quotes it', () => {
  const text: string = '90s'
  expect(duration(text)).toBe(90_000)
  expect(duration(1_500)).toBe(1_500)
  expect(slidingWindow({ limit: 1, window: duration(text) }).windowMs).toBe(90_000)
  for (const wrong of ['', '1w', '90', '1.5s', ' 1s', '0s', '4000d']) {
    expect(() => duration(wrong)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_DURATION', message: expect.any(String) }),
    )
  }
})
