import { expect, test } from 'vitest'
import { timeOf } from '../src/log/times.js'

const NOON = Date.UTC(2026, 9, 10, 12, 0, 1) * 1_000

test.each<[unknown, number]>([
  ['10/Oct/2026:12:00:01 +0000', NOON],
  ['[10/Oct/2026:12:00:01 +0000]', NOON],
  ['10/Oct/2026:12:00:01', NOON],
  ['10/Oct/2026:05:00:01 -0700', NOON],
  ['10/Oct/2026:17:30:01 +0530', NOON],
  ['10/Oct/2026:12:00:01.25 +0000', NOON + 250_000],
  ['10/Oct/2026:12:00:01.000001 +0000', NOON + 1],
  ['2026-10-10T12:00:01Z', NOON],
  ['2026-10-10T12:00:01.123Z', NOON + 123_000],
  ['2026-10-10T12:00:01.123456789Z', NOON + 123_456],
  ['2026-10-10T14:00:01+02:00', NOON],
  ['2026-10-10T14:00:01+0200', NOON],
  ['2026-10-10T14:00:01+02', NOON],
  ['2026-10-10 12:00:01', NOON],
  ['2026-10-10 12:00:01,5', NOON + 500_000],
  ['2026-10-10 14:00:01 +0200', NOON],
  ['2026/10/10 12:00:01', NOON],
  [NOON / 1e6, NOON],
  [NOON / 1e6 + 0.25, NOON + 250_000],
  [NOON / 1e3, NOON],
  [NOON, NOON],
  [NOON * 1e3, NOON],
  [String(NOON / 1e6), NOON],
  ['1796472001.250', 1_796_472_001_250_000],
])('%s is a time', (value, timeUs) => {
  expect(timeOf(value)).toBe(timeUs)
})

test.each([
  '',
  '-',
  'yesterday',
  '2026-13-10T12:00:01Z',
  '2026-02-30T12:00:01Z',
  '2026-10-10T24:00:00Z',
  '2026-10-10T12:60:00Z',
  '2026-10-10T12:00Z',
  '2026-10-10T12:00:01Zx',
  '2026-10-10',
  '10/Okt/2026:12:00:01 +0000',
  '00/Oct/2026:12:00:01 +0000',
  '10/Oct/2026 12:00:01',
  '1e9',
  '0x10',
  '1.2.3',
  -1,
  12.5,
  '12.5',
  Number.NaN,
  Number.POSITIVE_INFINITY,
  1e21,
  undefined,
  null,
  {},
  [1_796_472_001],
  true,
  '1'.repeat(65),
])('%s is not a time', (value) => {
  expect(timeOf(value)).toBeNaN()
})
