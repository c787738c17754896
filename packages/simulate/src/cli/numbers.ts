// How numbers, shares and times are printed.

import type { Share } from '../run/shares.js'

export function asCount(count: number): string {
  return Number.isInteger(count) ? count.toLocaleString('en-US') : String(count)
}

/** `0.12 %`; for a sample `0.12 ± 0.03 %`, with twice the standard error. */
export function asShare({ share, error }: Share): string {
  if (error === undefined) return `${asPercent(share)} %`
  const about = Number.isNaN(error) ? '?' : asPercent(2 * error)
  return `${asPercent(share)} ± ${about} %`
}

export function asPercent(share: number): string {
  const percent = share * 100
  if (percent === 0) return '0'
  if (percent < 0.001) return '<0.001'
  return percent >= 10 ? percent.toFixed(1) : String(Number(percent.toPrecision(2)))
}

/** `2026-10-10 13:55:36` in UTC, with a fraction if the time has one. */
export function asTime(us: number | undefined): string {
  if (us === undefined || !Number.isFinite(us) || Math.abs(us) > 8.64e18) return '-'
  const text = new Date(Math.floor(us / 1_000)).toISOString()
  return text.replace('T', ' ').replace(/(\.000)?Z$/, '')
}

/** `450 ms`, `12 s`, `3.5 min`, `2 h`, `4 d`. */
export function asDuration(ms: number): string {
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ] as const
  const [size, name] = units.find(([each]) => ms >= each) ?? [1, 'ms']
  return `${Number((ms / size).toPrecision(3))} ${name}`
}

/** The value that all runs have, or the range from the smallest to the largest. */
export function asRange(values: readonly number[], print: (value: number) => string): string {
  const texts = [...new Set([Math.min(...values), Math.max(...values)].map(print))]
  return texts.join(' to ')
}
