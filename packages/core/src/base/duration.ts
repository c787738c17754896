import { invalid } from './errors.js'

/**
 * A length of time: whole milliseconds as a number, or whole units as text: `'250ms'`, `'10s'`,
 * `'5m'`, `'1h'`, `'1d'`.
 */
export type Duration = number | `${bigint}${'ms' | 's' | 'm' | 'h' | 'd'}`

/** The longest first. */
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const

/**
 * Ten years of 365 days: longer than any sensible quota, short enough that every product in a
 * kernel stays exact.
 */
const MAX_DURATION_MS = 3_650 * 86_400_000

/**
 * A duration in milliseconds.
 * @throws {TypeError | RangeError} WEIR_INVALID_DURATION unless it is a whole number of
 * milliseconds from 1 ms to 3,650 days
 * @example durationMs('5m') // 300000
 */
export function durationMs(duration: Duration, what = 'duration'): number {
  const ms = typeof duration === 'string' ? parse(duration) : duration
  if (Number.isInteger(ms) && ms >= 1 && ms <= MAX_DURATION_MS) return ms
  if (typeof duration !== 'string')
    throw invalid('WEIR_INVALID_DURATION', what, duration, RIGHT, 'number')
  const right = /^(hour|day|week|month|year)s?$/.test(duration) ? CALENDAR : RIGHT
  throw invalid('WEIR_INVALID_DURATION', what, duration, right, 'string')
}

/**
 * Checks a duration whose text comes from elsewhere, such as configuration, and returns it in ms.
 * @throws {TypeError | RangeError} WEIR_INVALID_DURATION
 * @example rateLimit({ limit: 100, window: duration(process.env.WINDOW ?? '1m') })
 */
export function duration(text: string | number): number {
  return durationMs(text as Duration)
}

const RIGHT =
  "whole milliseconds (60000) or a text such as '250ms', '10s', '5m', '1h', '1d'; 1 ms to 3650 days"

const CALENDAR =
  "a duration such as '1d', or for a period of the calendar fixedWindow({ limit, window: 'month' })"

function parse(text: string): number {
  const [, count, given] = /^(\d{1,15})(ms|[smhd])$/.exec(text) ?? []
  const [, unitMs = Number.NaN] = UNITS.find(([unit]) => unit === given) ?? []
  return Number(count) * unitMs
}

/** The shortest text of a duration, for names and messages: 90000 is `90s`, 60000 is `1m`. */
export function durationText(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, each]) => ms % each === 0) ?? ['ms', 1]
  return `${ms / unitMs}${unit}`
}
