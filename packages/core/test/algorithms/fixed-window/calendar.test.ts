// Calendar windows: what the factory accepts, the name and the counter of a policy, and a limiter
// on both sides of a boundary.

import { describe, expect, test } from 'vitest'
import { fixedWindow as kernel } from '../../../src/algorithms/fixed-window/kernel.js'
import { counterOf, policyAt, policyNamed, withLimit } from '../../../src/algorithms/policy.js'
import {
  type Duration,
  type FixedWindowOptions,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.js'
import { fakeClock } from '../../../src/testing/index.js'

const DAY_MS = 86_400_000

test.each<[Omit<FixedWindowOptions, 'limit'>, string, string]>([
  [{ window: 'hour' }, 'hour@UTC', 'fixed-window-5-per-hour-UTC'],
  [{ window: 'day', timeZone: 'UTC' }, 'day@UTC', 'fixed-window-5-per-day-UTC'],
  [{ window: 'week' }, 'week-monday@UTC', 'fixed-window-5-per-week-monday-UTC'],
  [
    { window: 'week', weekStart: 'sunday', timeZone: 'Asia/Tokyo' },
    'week-sunday@Asia/Tokyo',
    'fixed-window-5-per-week-sunday-Asia-Tokyo',
  ],
  [
    { window: 'month', timeZone: 'Europe/Berlin' },
    'month@Europe/Berlin',
    'fixed-window-5-per-month-Europe-Berlin',
  ],
  [
    { window: 'year', timeZone: 'Etc/GMT+5' },
    'year@Etc/GMT+5',
    'fixed-window-5-per-year-Etc-GMT-5',
  ],
  [{ window: 'day', name: 'daily' }, 'day@UTC', 'daily'],
])('%j counts under %s and is called %s', (options, timeScale, name) => {
  const policy = fixedWindow({ limit: 5, ...options })
  expect(policy).toMatchObject({ algorithm: 'fixed-window', timeScale, name, limit: 5 })
  expect(counterOf(policy)).toBe(`${kernel.id}-${timeScale}`)
  expect(Object.isFrozen(policy)).toBe(true)
})

test('a zone counts under its name as it is written', () => {
  const counters = ['Asia/Kolkata', 'Asia/Calcutta', 'asia/kolkata'].map((timeZone) =>
    counterOf(fixedWindow({ limit: 5, window: 'day', timeZone })),
  )
  expect(new Set(counters).size).toBe(3)
})

test.each<[object, string, RegExp]>([
  [
    { window: 'day', timeZone: 'Mars/Olympus' },
    'RangeError',
    /timeZone is "Mars\/Olympus"; give a/,
  ],
  [{ window: 'day', timeZone: '' }, 'RangeError', /timeZone is ""/],
  [{ window: 'day', timeZone: 'x'.repeat(1_000_000) }, 'RangeError', /timeZone is "x{64}…"/],
  [{ window: 'day', timeZone: 'UTC\n\u001b[31m' }, 'RangeError', /timeZone is "UTC\\u000a/],
  [{ window: 'day', timeZone: 1 }, 'TypeError', /timeZone is 1; give a time zone/],
  [{ window: 'day', timeZone: null }, 'TypeError', /timeZone is null/],
  [{ window: 'day', timeZone: { toString: () => 'UTC' } }, 'TypeError', /timeZone is/],
  [{ window: 'week', weekStart: 'Monday' }, 'RangeError', /weekStart is "Monday"; give one of sun/],
  [{ window: 'week', weekStart: 1 }, 'TypeError', /weekStart is 1/],
  [{ window: 'month', weekStart: 'monday' }, 'RangeError', /give it with window: 'week'/],
  [{ window: 'day', aligned: false }, 'TypeError', /aligned is false; give nothing/],
  [{ window: '1d', timeZone: 'UTC' }, 'TypeError', /give it with a period of the calendar/],
  [{ window: '7d', weekStart: 'monday' }, 'TypeError', /give it with a period of the calendar/],
  [{ window: 'day', zone: 'UTC' }, 'TypeError', /does not know the option "zone"/],
  [{ window: 'day', limit: -1 }, 'RangeError', /limit is -1/],
])('refused: %j', (options, name, message) => {
  const make = () => fixedWindow({ limit: 5, ...options } as never)
  expect(make).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_POLICY', name }))
  expect(make).toThrow(message)
})

test.each<[string, () => Policy]>([
  ['a sliding window', () => slidingWindow({ limit: 5, window: 'month' as Duration })],
  ['a bucket', () => tokenBucket({ capacity: 5, refill: 5, every: 'day' as Duration })],
  ['a misspelt period', () => fixedWindow({ limit: 5, window: 'months' as 'month' })],
])('%s has no calendar period, and the error says what has', (_, make) => {
  expect(make).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_DURATION' }))
  expect(make).toThrow("fixedWindow({ limit, window: 'month' })")
})

test.each(['+05:30', 'GMT', 'EST5EDT', 'US/Pacific'])(
  'the zone %s is one if Intl has it',
  (timeZone) => {
    const inIntl = (() => {
      try {
        return new Intl.DateTimeFormat('en-US', { timeZone }) !== undefined
      } catch {
        return false
      }
    })()
    const make = () => fixedWindow({ limit: 5, window: 'day', timeZone })
    if (!inIntl) expect(make).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_POLICY' }))
    else expect(make().timeScale).toBe(`day@${timeZone}`)
  },
)

describe('a policy that is made from another', () => {
  const policy = fixedWindow({ limit: 10, window: 'month', timeZone: 'Asia/Tokyo' })
  const atUs = Date.UTC(2026, 1, 10) * 1_000

  test.each<[string, Policy]>([
    ['with another limit', withLimit(policy, 3)],
    ['under another name', policyNamed(policy, 'monthly')],
    ['as it is at a time', policyAt(policy, atUs)],
  ])('%s keeps the zone and the period', (_, made) => {
    expect(counterOf(made)).toBe(counterOf(policy))
    expect(made.kernel?.periodAt?.(atUs)).toEqual({
      startMs: Date.parse('2026-01-31T15:00Z'),
      endMs: Date.parse('2026-02-28T15:00Z'),
    })
  })

  test('as it is at a time has the length of that period, and is one object for all of its times', () => {
    const then = policyAt(policy, atUs)
    expect(policy.windowMs).toBe(31 * DAY_MS)
    expect(then.windowMs).toBe(28 * DAY_MS)
    expect(policyAt(policy, atUs + 365 * DAY_MS * 1_000)).toBe(then)
    expect(then.signature).toBe(policy.signature)
    expect(policyAt(then, Date.UTC(2026, 3, 10) * 1_000).windowMs).toBe(30 * DAY_MS)
  })
})

test.each<[string, Omit<FixedWindowOptions, 'limit'>, string, string]>([
  ['a month', { window: 'month' }, '2026-02-10T00:00Z', '2026-03-01T00:00Z'],
  [
    'a day of 23 hours',
    { window: 'day', timeZone: 'Europe/Berlin' },
    '2026-03-29T00:00Z',
    '2026-03-29T22:00Z',
  ],
])('%s is used up until its very end', async (_, options, from, end) => {
  const clock = fakeClock(Date.parse(from))
  const policy = fixedWindow({ limit: 2, ...options })
  const limiter = new RateLimiter({ store: memoryStore({ clock }), policy })
  const restMs = Date.parse(end) - Date.parse(from)
  expect(await limiter.consume('k')).toMatchObject({ remaining: 1, resetAfterMs: restMs })
  const used = await limiter.consume('k')
  const denied = await limiter.consume('k')
  expect(denied).toMatchObject({ allowed: false, retryAfterMs: restMs, reason: 'limit' })
  clock.advance(restMs - 1)
  expect(await limiter.consume('k')).toMatchObject({ allowed: false, retryAfterMs: 1 })
  clock.advance(1)
  expect(await limiter.consume('k')).toMatchObject({ allowed: true, remaining: 1 })
  await limiter.refund(used)
  expect(await limiter.peek('k')).toMatchObject({ remaining: 1 })
})
