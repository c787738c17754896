// Periods of the calendar, zone by zone, compared with another implementation (zones.ts).
// The weekly run tests all zones that this process knows, instead of a few unusual ones.

import { isWeekly } from '@weir/testkit'
import { describe, expect, test } from 'vitest'
import { type CalendarUnit, periodsOf, WEEK_DAYS, type WeekDay } from '../../src/base/calendar.js'
import { boundariesOf, civilOf, hoursAround, type Stretch, stretchesOf } from './zones.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Thirty years: recent changes of zones, and those that are planned. */
const FROM_MS = Date.UTC(2010, 0, 1)
const TO_MS = Date.UTC(2040, 0, 1)
const DAYS = [FROM_MS / DAY_MS - 400, TO_MS / DAY_MS + 400] as const

const PECULIAR = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Sydney',
  // Offsets of half and quarter hours.
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Pacific/Chatham',
  // Changes by half an hour, by two hours, and at one minute past midnight.
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'America/St_Johns',
  // Changes at midnight, forward and back.
  'America/Sao_Paulo',
  'America/Havana',
  'Asia/Beirut',
  // Skipped a day.
  'Pacific/Apia',
  'Pacific/Fakaofo',
  // Rules that change often.
  'Africa/Casablanca',
  'Africa/Cairo',
  'Asia/Pyongyang',
  'Europe/Volgograd',
]

const zones = isWeekly ? Intl.supportedValuesOf('timeZone') : PECULIAR

const UNITS: readonly [CalendarUnit, WeekDay, (day: number) => boolean][] = [
  ['day', 'monday', () => true],
  ['week', 'monday', (day) => weekDayOf(day) === 1],
  ['week', 'saturday', (day) => weekDayOf(day) === 6],
  ['month', 'monday', (day) => civilOf(day)[2] === 1],
  ['year', 'monday', (day) => civilOf(day).slice(1).join() === '1,1'],
]

/** 0 is a Sunday. */
function weekDayOf(day: number): number {
  return (day + 4) % 7
}

/** Zones with the same changes are tested only once. */
const seen = new Map<string, string>()

describe('periods are those of another implementation', () => {
  test.each(zones)('%s', (timeZone) => {
    const stretches = stretchesOf(timeZone, FROM_MS - 400 * DAY_MS, TO_MS + 400 * DAY_MS)
    const changes = JSON.stringify(stretches)
    if (seen.has(changes)) return
    seen.set(changes, timeZone)
    for (const [unit, weekStart, isFirst] of UNITS) {
      const boundaries = boundariesOf(stretches, DAYS, isFirst)
      const some = isWeekly ? boundaries.keys() : nearChanges(boundaries, stretches)
      mustHave(
        boundaries,
        [...some],
        periodsOf(unit, timeZone, weekStart),
        `${unit} of ${timeZone}`,
      )
    }
    for (let place = 1; place < stretches.length; place += 1) {
      const boundaries = hoursAround(stretches, place)
      const all = [...boundaries.keys()]
      mustHave(boundaries, all, periodsOf('hour', timeZone, 'monday'), `hour of ${timeZone}`)
    }
  })

  test('there are enough zones', () => {
    expect(zones.length).toBeGreaterThan(isWeekly ? 200 : 15)
  })
})

/** Every tenth of many, and all within a week of a change. */
function nearChanges(boundaries: readonly number[], stretches: readonly Stretch[]): number[] {
  const isNear = (ms: number): boolean =>
    stretches.some(({ startMs }) => Math.abs(startMs - ms) < 7 * DAY_MS)
  const isMany = boundaries.length > 1_000
  return [...boundaries.keys()].filter(
    (i) => !isMany || i % 10 === 0 || isNear(boundaries[i] as number),
  )
}

/** Asks for the last ms of each period in ascending order, and for the first in descending
 *  order. */
function mustHave(
  boundaries: readonly number[],
  places: readonly number[],
  periodAt: ReturnType<typeof periodsOf>,
  what: string,
): void {
  const wrong: unknown[] = []
  const look = (i: number, ms: number): void => {
    const [startMs, endMs] = [boundaries[i], boundaries[i + 1]]
    const found = periodAt(ms)
    if (found.startMs !== startMs || found.endMs !== endMs)
      wrong.push({ ms, startMs, endMs, found })
  }
  const inside = places.filter((i) => i + 1 < boundaries.length)
  for (const i of inside) look(i, (boundaries[i + 1] as number) - 1)
  for (const i of inside.reverse()) look(i, boundaries[i] as number)
  expect(wrong.slice(0, 3), what).toEqual([])
}

/** The start and the length in hours of the period at a time. */
function at(unit: CalendarUnit, timeZone: string, text: string): [start: string, hours: number] {
  const { startMs, endMs } = periodsOf(unit, timeZone, 'monday')(Date.parse(text))
  return [new Date(startMs).toISOString().slice(0, 16), (endMs - startMs) / HOUR_MS]
}

test.each<[CalendarUnit, string, string, string, number, string]>([
  ['day', 'Europe/Berlin', '2026-03-29T12:00Z', '2026-03-28T23:00', 23, 'the clock goes forward'],
  ['day', 'Europe/Berlin', '2026-10-25T12:00Z', '2026-10-24T22:00', 25, 'and back'],
  ['day', 'Australia/Lord_Howe', '2026-04-04T20:00Z', '2026-04-04T13:00', 24.5, 'by half an hour'],
  ['month', 'Europe/Berlin', '2026-03-15T00:00Z', '2026-02-28T23:00', 743, 'a month of a change'],
  ['month', 'UTC', '2028-02-29T23:59Z', '2028-02-01T00:00', 29 * 24, 'a leap day'],
  ['month', 'UTC', '2026-02-28T23:59Z', '2026-02-01T00:00', 28 * 24, 'no leap day'],
  ['year', 'Asia/Kathmandu', '2028-07-01T00:00Z', '2027-12-31T18:15', 366 * 24, 'a leap year'],
  ['week', 'UTC', '2026-01-01T00:00Z', '2025-12-29T00:00', 168, 'a week across a year'],
  ['day', 'Pacific/Apia', '2011-12-30T09:59Z', '2011-12-29T10:00', 24, 'before a day is skipped'],
  ['day', 'Pacific/Apia', '2011-12-30T10:00Z', '2011-12-30T10:00', 24, 'and after it'],
  ['day', 'America/Sao_Paulo', '2018-11-04T12:00Z', '2018-11-04T03:00', 23, 'no midnight'],
  ['day', 'America/Havana', '2026-11-01T12:00Z', '2026-11-01T04:00', 25, 'midnight comes twice'],
  ['day', 'America/St_Johns', '2010-11-07T03:00Z', '2010-11-07T02:30', 25, 'put back to yesterday'],
  ['hour', 'Europe/Berlin', '2026-10-25T00:30Z', '2026-10-25T00:00', 1, 'an hour that comes twice'],
  ['hour', 'Europe/Berlin', '2026-10-25T01:30Z', '2026-10-25T01:00', 1, 'its second time'],
  ['hour', 'Asia/Kolkata', '2026-10-25T00:00Z', '2026-10-24T23:30', 1, 'a half-hour zone'],
  ['hour', 'Australia/Lord_Howe', '2026-04-04T15:10Z', '2026-04-04T15:00', 0.5, 'a half hour more'],
])('a %s of %s at %s begins at %s and takes %d hours: %s', (unit, zone, text, start, hours) => {
  expect(at(unit, zone, text)).toEqual([start, hours])
})

test.each(WEEK_DAYS)('a week that begins on %s', (weekStart) => {
  const { startMs } = periodsOf('week', 'Asia/Tokyo', weekStart)(Date.UTC(2026, 10, 22))
  const name = new Intl.DateTimeFormat('en-US', { timeZone: 'Asia/Tokyo', weekday: 'long' })
  expect(name.format(startMs).toLowerCase()).toBe(weekStart)
})

test('stretches are found to the second', () => {
  const found = stretchesOf('Europe/Berlin', Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1))
  const starts = found.slice(1).map(({ startMs }: Stretch) => new Date(startMs).toISOString())
  expect(starts).toEqual(['2026-03-29T01:00:00.000Z', '2026-10-25T01:00:00.000Z'])
})
