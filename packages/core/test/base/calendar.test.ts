// Periods of the calendar, zone by zone, compared with another implementation (zones.ts).
// The weekly run tests all zones that this process knows, instead of a few unusual ones.

import { isWeekly } from '@weir/testkit'
import { describe, expect, test } from 'vitest'
import { type CalendarUnit, periodsOf, WEEK_DAYS, type WeekDay } from '../../src/base/calendar.js'
import { boundariesOf, civilOf, hoursAround, type Stretch, stretchesOf } from './zones.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Recent changes of zones, and those that are planned. */
const FROM_MS = Date.UTC(2010, 0, 1)
const TO_MS = Date.UTC(isWeekly ? 2040 : 2030, 0, 1)
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
