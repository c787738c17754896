import { expect, test } from 'vitest'
import { lasting, printed } from '../src/why/words.js'

test.each([
  [0, '0 ms'],
  [0.4, '1 ms'],
  [999, '999 ms'],
  [1_000, '1.0 s'],
  [34_150, '34.2 s'],
  [59_999, '60.0 s'],
  [60_000, '1 min'],
  [61_000, '1 min 1 s'],
  [119_001, '2 min'],
  [3_599_500, '1 h'],
  [86_399_000, '1 d'],
  [86_400_000 * 3 + 1, '3 d 1 h'],
  [3_600_000, '1 h'],
  [22_320_000, '6 h 12 min'],
  [90_000_000, '1 d 1 h'],
  [Number.POSITIVE_INFINITY, 'for ever'],
])('%d ms lasts %s', (ms, text) => {
  expect(lasting(ms)).toBe(text)
})

test.each([
  ['plain "text" é 😀', 'plain "text" é 😀'],
  ['\u001b[31m\n\u2028', '\\u001b[31m\\u000a\\u2028'],
  ['\ud800\u202e', '\\ud800\\u202e'],
])('%j is printed as %s', (text, shown) => {
  expect(printed(text)).toBe(shown)
})
