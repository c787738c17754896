// What a policy accepts, and how it refuses the rest: the table of invalid input.

import { describe, expect, test } from 'vitest'
import {
  type Duration,
  fixedWindow,
  gcra,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
import { policyFactories } from '../../src/testing/algorithms.js'

const window: Duration = '1m'

/** Each factory, with a limit and a window to fill in. */
const FACTORIES = Object.entries(policyFactories).map(([name, { of }]) => [name, of] as const)

const BAD_LIMITS: unknown[] = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -1,
  1.5,
  2 ** 53,
  2 ** 53 + 2,
  '10',
  null,
  undefined,
  {},
  [],
  true,
  10n,
]

const BAD_WINDOWS: unknown[] = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  0,
  1.5,
  2 ** 53,
  '10',
  '1e3',
  '',
  ' ',
  's',
  '-1s',
  '1.5s',
  '1 s',
  '1S',
  '0s',
  '9'.repeat(400),
  `${'9'.repeat(20)}ms`,
  '3651d',
  3_650 * 86_400_000 + 1,
  null,
  undefined,
  {},
  10n,
]

/** A slot is held for 1 s to 1 d. */
const SPANS_OF_SLOTS: readonly Duration[] = [1_000, '10s', '5m', '1h', '1d']

test('a bucket without capacity also has a rate that can be kept', () => {
  const none = { capacity: 0, every: '1s' } as const
  expect(() => tokenBucket({ ...none, refill: 5e-324 })).toThrow(
    expect.objectContaining({ code: 'WEIR_INVALID_POLICY' }),
  )
  expect(tokenBucket({ ...none, refill: 1 }).numbers.slice(0, 2)).toEqual([0, 0])
})

describe.each(FACTORIES)('%s', (factory, make) => {
  test.each(BAD_LIMITS)('refuses a limit of %s', (limit) => {
    if (factory === 'gcra' && limit === undefined) return // it has a default
    expect(() => make(limit as number, window)).toThrow(
      expect.objectContaining({
        code: 'WEIR_INVALID_POLICY',
        message: expect.stringContaining('give'),
      }),
    )
  })

  test.each(BAD_WINDOWS)('refuses a window of %s', (span) => {
    expect(() => make(10, span as Duration)).toThrow(
      expect.objectContaining({
        code: 'WEIR_INVALID_DURATION',
        message: expect.stringContaining('give'),
      }),
    )
  })

  test.each([1, 1_000, '1ms', '250ms', '10s', '5m', '1h', '1d', 2 ** 31] as Duration[])(
    'takes %s',
    (span) => {
      if (factory === 'concurrency' && !SPANS_OF_SLOTS.includes(span)) return
      expect(make(10, span).windowMs).toBeGreaterThan(0)
    },
  )

  test('accepts a limit of 0, which denies everything', () => {
    expect(make(0, window).limit).toBe(0)
  })

  test('is frozen, and named after its numbers', () => {
    const policy = make(10, window)
    expect(Object.isFrozen(policy)).toBe(true)
    expect(policy.name).toMatch(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/)
    expect(make(11, window).name).not.toBe(policy.name)
  })
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, 0, -1, '10', null, undefined])(
  'a rate of %s is refused',
  (rate) => {
    const refill = rate as number
    const refused = expect.objectContaining({ code: 'WEIR_INVALID_POLICY' })
    expect(() => tokenBucket({ capacity: 1, refill, every: '1s' })).toThrow(refused)
    expect(() => leakyBucket({ capacity: 1, leak: refill, every: '1s' })).toThrow(refused)
    expect(() => gcra({ limit: refill, period: '1s', burst: 1 })).toThrow(refused)
  },
)

test.each([
  [() => gcra({ limit: -1, period: '1s' }), 'limit'],
  [() => gcra({ limit: '10' as never, period: '1s' }), 'limit'],
  [() => gcra({ limit: 1, period: 0 }), 'period'],
  [() => gcra({ limit: 1, period: '1s', burst: -1 }), 'burst'],
  [() => leakyBucket({ capacity: 1, leak: 0, every: '1s' }), 'leak'],
])('%s: the error named an option that the user had not set', (make, option) => {
  expect(make).toThrow(
    expect.objectContaining({ message: expect.stringContaining(`: ${option} is `) }),
  )
})

test('gcra with a limit of 0 was refused, and with a limit below 1 it denied forever', () => {
  expect(gcra({ limit: 0, period: '1s' }).limit).toBe(0)
  expect(gcra({ limit: 0.5, period: '1s' }).limit).toBe(1)
})

test('a rate may be a fraction', () => {
  expect(tokenBucket({ capacity: 1, refill: 0.5, every: '1s' }).windowMs).toBe(2_000)
})

test.each([
  [
    'a rate that eighths of a microsecond cannot tell within 1 %',
    () => tokenBucket({ capacity: 1, refill: 10_000_000, every: '1s' }),
  ],
  [
    'a bucket that takes over 1826 days to fill',
    () => tokenBucket({ capacity: 1_827, refill: 1, every: '1d' }),
  ],
  ['a log of over 100,000 entries', () => slidingLog({ limit: 100_001, window: '1h' })],
  [
    'a counter whose limit times span is above 2^53',
    () => slidingCounter({ limit: 10 ** 9, window: '365d' }),
  ],
  ['one part', () => slidingWindow({ limit: 1, window: '1s', parts: 1 })],
  ['half a part', () => slidingWindow({ limit: 1, window: '1s', parts: 2.5 })],
  ['aligned as text', () => fixedWindow({ limit: 1, window: '1s', aligned: 'yes' as never })],
  ['an option that does not exist', () => fixedWindow({ limit: 1, window: '1s', max: 1 } as never)],
  ['no options', () => fixedWindow(undefined as never)],
])('refused: %s', (_, make) => {
  expect(make).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_POLICY' }))
})

test('the last rate before the bound is accepted', () => {
  expect(tokenBucket({ capacity: 1_826, refill: 1, every: '1d' }).windowMs).toBe(1_826 * 86_400_000)
  expect(tokenBucket({ capacity: 1, refill: 8_000_000, every: '1s' }).unitMs).toBe(0.000125)
})

test.each(['1a', '2fa', '9', '3d.search-v2', `1${'a'.repeat(63)}`])(
  'the name %s is taken',
  (name) => {
    expect(unlimited({ name }).name).toBe(name)
  },
)

test.each(['', '_a', '.a', '-a', 'a b', 'a:b', 'a{b}', 'ä', 'a\n', 'a'.repeat(65), 1, null])(
  'the name %s is refused',
  (name) => {
    expect(() => unlimited({ name: name as string })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_NAME' }),
    )
  },
)

test('messages quote the value, cut and without control characters', () => {
  expect(() => unlimited({ name: `\u001b[31m"${'x'.repeat(1_000_000)}` })).toThrow(
    /^policy name is "\\u001b\[31m\\"x{58}…"; give /,
  )
})
