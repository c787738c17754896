// Calendar periods in a time zone, as this process's `Intl` knows it.
//
// A period begins when the local clock first shows its beginning, or jumps past it. So a day is 23
// or 25 hours long where the clock is put forward or back, a day that a zone has skipped is no
// period at all, and a clock that is put back past midnight does not begin the day a second time.
// An hour begins at every full hour of the local clock and at each change of the clock: an hour
// that comes twice counts as two.

import { Recent } from './cache.js'

export type CalendarUnit = 'hour' | 'day' | 'week' | 'month' | 'year'
export type WeekDay = (typeof WEEK_DAYS)[number]

/** In ms since the Unix epoch; the end is the start of the next period. */
export interface Period {
  readonly startMs: number
  readonly endMs: number
}

/** Returns the period that contains an instant. */
export type PeriodAt = (ms: number) => Period

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The longest that a period can be, apart from changes of the clock. */
export const LENGTHS_MS: Readonly<Record<CalendarUnit, number>> = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
  year: 366 * DAY_MS,
}

export const WEEK_DAYS = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const

/** Local time minus UTC at an instant, in ms. */
type OffsetAt = (ms: number) => number

/** A format takes about 50 us to make, and policies may be made for each request. */
const offsets = new Recent<OffsetAt>(200)

/** @throws {RangeError} if `Intl` does not know the zone */
function offsetsOf(timeZone: string): OffsetAt {
  const known = offsets.get(timeZone)
  if (known !== undefined) return known
  const number = 'numeric'
  const date = { year: number, month: number, day: number } as const
  const time = { hour: number, minute: number, second: number, hourCycle: 'h23' } as const
  const system = { calendar: 'gregory', numberingSystem: 'latn' } as const
  const options = { timeZone, ...system, ...date, ...time } as const
  const format = new Intl.DateTimeFormat('en-US', options)
  const offsetAt = (ms: number): number => {
    const wholeMs = Math.floor(ms / 1_000) * 1_000
    const [month = 0, day, year = 0, hour, minute, second] = format
      .format(wholeMs)
      .split(/\D+/)
      .map(Number)
    return Date.UTC(year, month - 1, day, hour, minute, second) - wholeMs
  }
  offsets.set(timeZone, offsetAt)
  return offsetAt
}

/**
 * Returns a function that finds a zone's periods. It remembers the last one, so that asking again
 * costs nothing.
 * @throws {RangeError} if `Intl` does not know the zone
 */
export function periodsOf(unit: CalendarUnit, timeZone: string, weekStart: WeekDay): PeriodAt {
  const offsetAt = offsetsOf(timeZone)
  const steps = unit === 'hour' ? undefined : stepsOf(unit, WEEK_DAYS.indexOf(weekStart))
  let last: Period = { startMs: 0, endMs: 0 }
  return (ms) => {
    if (ms < last.startMs || ms >= last.endMs)
      last = steps === undefined ? hourAt(ms, offsetAt) : periodAt(ms, offsetAt, steps)
    return last
  }
}

/** Steps through local times, in ms as if they were UTC. */
interface Steps {
  /** The beginning of the period that contains a local time. */
  floor(localMs: number): number
  /** The beginning of the next period. */
  next(startMs: number): number
}

function stepsOf(unit: Exclude<CalendarUnit, 'hour'>, firstDay: number): Steps {
  if (unit === 'month' || unit === 'year') {
    const months = unit === 'month' ? 1 : 12
    const begin = (localMs: number, later: number): number => {
      const date = new Date(localMs)
      const month = months === 1 ? date.getUTCMonth() : 0
      return Date.UTC(date.getUTCFullYear(), month + later)
    }
    return { floor: (localMs) => begin(localMs, 0), next: (startMs) => begin(startMs, months) }
  }
  const lengthMs = LENGTHS_MS[unit]
  // The epoch was a Thursday.
  const phaseMs = unit === 'week' ? ((firstDay + 3) % 7) * DAY_MS : 0
  return {
    floor: (localMs) => Math.floor((localMs - phaseMs) / lengthMs) * lengthMs + phaseMs,
    next: (startMs) => startMs + lengthMs,
  }
}

function periodAt(ms: number, offsetAt: OffsetAt, { floor, next }: Steps): Period {
  let localMs = floor(ms + offsetAt(ms))
  let startMs = firstAt(localMs, offsetAt)
  for (;;) {
    localMs = next(localMs)
    const endMs = firstAt(localMs, offsetAt)
    // `ms` may be past the end where the clock was put back over that end.
    if (ms < endMs) return { startMs, endMs }
    startMs = endMs
  }
}

function hourAt(ms: number, offsetAt: OffsetAt): Period {
  const offsetMs = offsetAt(ms)
  const startMs = Math.floor((ms + offsetMs) / HOUR_MS) * HOUR_MS - offsetMs
  const endMs = startMs + HOUR_MS
  return {
    startMs: offsetAt(startMs) === offsetMs ? startMs : changeBetween(startMs, ms, offsetAt),
    endMs: offsetAt(endMs - 1) === offsetMs ? endMs : changeBetween(ms, endMs - 1, offsetAt),
  }
}

/** The first instant at which the local clock shows a time, or has jumped past it. */
function firstAt(localMs: number, offsetAt: OffsetAt): number {
  // No offset is as large as a day, and no zone has changed its clock twice within two days.
  const fromMs = localMs - DAY_MS
  const toMs = localMs + DAY_MS
  const before = offsetAt(fromMs)
  const after = offsetAt(toMs)
  if (before === after) return localMs - before
  const changeMs = changeBetween(fromMs, toMs, offsetAt)
  if (localMs - before < changeMs) return localMs - before
  return Math.max(changeMs, localMs - after)
}

/** The first ms whose offset is not the one at `fromMs`. The offset at `toMs` is another. */
function changeBetween(fromMs: number, toMs: number, offsetAt: OffsetAt): number {
  const offsetMs = offsetAt(fromMs)
  let low = fromMs
  let high = toMs
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle) === offsetMs) low = middle
    else high = middle
  }
  return high
}
