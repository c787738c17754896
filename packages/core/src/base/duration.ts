import { quote, rangeError, typeError } from './errors.js'

/**
 * A length of time: a whole number of milliseconds, or whole units as text: `'250ms'`, `'10s'`,
 * `'5m'`, `'1h'`, `'1d'`.
 */
export type Duration = number | `${bigint}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNIT_MS: Readonly<Record<'ms' | 's' | 'm' | 'h' | 'd', number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/**
 * Ten years of 365 days: longer than any sensible quota, short enough for every product of a kernel
 * to stay exact.
 */
const MAX_DURATION_MS: number = 3_650 * UNIT_MS.d

/**
 * Milliseconds of a duration.
 * @throws {RangeError} WEIR_INVALID_DURATION unless it is a whole number of milliseconds from 1 ms
 * to 3,650 days
 * @example durationMs('5m') // 300000
 */
export function durationMs(duration: Duration, what = 'duration'): number {
  const ms = typeof duration === 'string' ? parse(duration) : duration
  if (typeof ms !== 'number') {
    throw typeError('WEIR_INVALID_DURATION', `${what} is ${quote(duration)}; give ${RIGHT}`)
  }
  if (!Number.isInteger(ms) || ms < 1 || ms > MAX_DURATION_MS) {
    throw rangeError('WEIR_INVALID_DURATION', `${what} is ${quote(duration)}; give ${RIGHT}`)
  }
  return ms
}

const RIGHT =
  "whole milliseconds (60000) or a text such as '250ms', '10s', '5m', '1h', '1d'; 1 ms to 3650 days"

function parse(text: string): number {
  const match = /^(\d{1,15})(ms|[smhd])$/.exec(text)
  return match ? Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] : Number.NaN
}

/** The shortest text of a duration, for names and messages: 90000 is `90s`, 60000 is `1m`. */
export function durationText(ms: number): string {
  const unit =
    (['d', 'h', 'm', 's'] as const).find((candidate) => ms % UNIT_MS[candidate] === 0) ?? 'ms'
  return `${ms / UNIT_MS[unit]}${unit}`
}
