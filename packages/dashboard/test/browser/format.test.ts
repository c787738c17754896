import { describe, expect, test } from 'vitest'
import {
  bytes,
  count,
  duration,
  listed,
  measured,
  rate,
  share,
  shown,
} from '../../src/page/format.js'
import { changeWords, limitWords, policyWords } from '../../src/page/words.js'

test('a count is written to the unit', () => {
  expect([0, 7, 1_234_567, 9_007_199_254_740_991].map(count)).toEqual([
    '0',
    '7',
    '1,234,567',
    '9,007,199,254,740,991',
  ])
})

test('a rate has two digits below 100, so that one a second is 1, and then three', () => {
  const rates = [0, 0.333_3, 0.999, 12.34, 99.9, 499.6, 1_234, 12_345, 1_234_567]
  const words = ['0', '0.33', '1', '12', '99.9', '500', '1,230', '12.3K', '1.23M']
  expect(rates.map(rate)).toEqual(words)
  expect([0.855, 12.5].map(measured)).toEqual(['0.855', '12.5'])
})

test('of many names, three are listed', () => {
  expect([listed(['a', 'b', 'c']), listed(['a', 'b', 'c', 'd', 'e'])]).toEqual([
    'a, b, c',
    'a, b, c and 2 more',
  ])
})

test('a part above 0 is not shown as 0%, and one below the whole not as 100%', () => {
  expect([share(1, 1_000_000), share(999_999, 1_000_000), share(0, 5), share(5, 5)]).toEqual([
    '<0.1%',
    '>99.9%',
    '0%',
    '100%',
  ])
  expect([share(1, 3), share(1, 15), share(1, 0)]).toEqual(['33%', '6.7%', '–'])
})

test('a duration shows its two largest units', () => {
  const durations = [0, 0.4, 999, 1_500, 12_000, 61_000, 3_600_000, 90_061_000, null, undefined]
  expect(durations.map(duration)).toEqual([
    '0 ms',
    '0.4 ms',
    '999 ms',
    '1.5 s',
    '12 s',
    '1 min 1 s',
    '1 h',
    '1 d 1 h',
    'never',
    '–',
  ])
})

test('bytes have a unit', () => {
  expect([12, 1_200, 1_932_000, 2e12].map(bytes)).toEqual(['12 B', '1.2 kB', '1.93 MB', '2 TB'])
})

describe('a text from outside', () => {
  test('is on one line, in one direction', () => {
    expect(shown('a\r\nb\u001b[2J\u202ec\u200b\u2066')).toBe(
      'a\\u000d\\u000ab\\u001b[2J\\u202ec\\u200b\\u2066',
    )
  })

  test('is cut if it is long', () => {
    expect(shown('x'.repeat(500))).toBe(`${'x'.repeat(120)}…`)
  })
})

describe('a policy in words', () => {
  test.each([
    [
      { algorithm: 'sliding-window', name: 'calls', limit: 2_000, window: '1m' },
      'sliding window: 2,000 per 1m',
    ],
    [
      { algorithm: 'token-bucket', name: 'b', capacity: 20, refill: 10, every: '1s' },
      'token bucket: capacity 20, refill 10 every 1s',
    ],
    [
      { algorithm: 'lockout', name: 'g', limit: 5, window: '15m', block: ['1m', '1h'] },
      'lockout: 5 per 15m, block ["1m","1h"]',
    ],
    [{ algorithm: 'unlimited', name: 'calls' }, 'unlimited: no limit'],
  ])('%j', (policy, words) => {
    expect(policyWords(policy)).toBe(words)
  })

  test('a change names what differs', () => {
    const was = { algorithm: 'gcra', limit: 10, window: '1m' }
    expect(changeWords(was, { ...was, limit: 20 })).toBe('limit from 10 to 20')
    expect(changeWords(was, was)).toBe('')
  })

  test('for a limiter', () => {
    expect([
      limitWords(5, 60_000),
      limitWords(12, undefined),
      limitWords(undefined, undefined),
    ]).toEqual(['5 in 1 min', '12 at once', 'set by each request'])
  })
})
