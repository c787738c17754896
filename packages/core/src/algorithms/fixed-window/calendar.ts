// Windows that are calendar periods: hours, days, weeks, months or years in a time zone. They have
// a fixed window's arithmetic and state; the window is what is left of the period.
//
// Redis has no `Intl`, so the process says which period it is, by the last time that the server
// told it. A script whose clock is outside that period changes nothing and replies with its time;
// the process calls it once more with the period of that time (redis/transport). If the clock has
// left that period as well, the call fails.

import { Recent } from '../../base/cache.js'
import {
  type CalendarUnit,
  LENGTHS_MS,
  type PeriodAt,
  periodsOf,
  type WeekDay,
} from '../../base/calendar.js'
import { invalid } from '../../base/errors.js'
import type { Kernel, Scratch } from '../algorithm.js'
import type { Policy } from '../policy.js'
import { fixedWindow } from './kernel.js'

/** What a period changes in a fixed window's scratch. */
type WindowScratch = Scratch & { spanMs: number }

/** Whether a window is a calendar period. */
export function isCalendarUnit(window: unknown): window is CalendarUnit {
  return typeof window === 'string' && Object.hasOwn(LENGTHS_MS, window)
}

type Made = Pick<Policy, 'kernel' | 'timeScale'>

/** Kept by time scale, as policies may be made for each request. */
const made = new Recent<Made>(1_000)

/**
 * A period's kernel and time scale.
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY
 */
export function kernelOf(unit: CalendarUnit, timeZone: string, weekStart: WeekDay): Made {
  if (typeof timeZone !== 'string') throw unknownZone(timeZone)
  // The zone as written: whether two names mean one zone may change with the time zone data.
  const timeScale = `${unit === 'week' ? `week-${weekStart}` : unit}@${timeZone}`
  const known = made.get(timeScale)
  if (known !== undefined) return known
  try {
    const one = { kernel: calendarKernel(periodsOf(unit, timeZone, weekStart)), timeScale }
    made.set(timeScale, one)
    return one
  } catch {
    throw unknownZone(timeZone)
  }
}

function unknownZone(timeZone: unknown): Error {
  const right = "a time zone that Intl of this process knows, such as 'Europe/Berlin' or 'UTC'"
  return invalid('WEIR_INVALID_POLICY', 'fixed-window: timeZone', timeZone, right, 'string')
}

/** Numbers: the limit and, to Redis, the period's start and end, in ms. */
function calendarKernel(periodAt: PeriodAt): Kernel {
  return {
    ...fixedWindow,
    periodAt: (nowUs) => periodAt(Math.floor(nowUs / 1_000)),
    read(scratch, cells, offset, nowUs) {
      const nowMs = Math.floor(nowUs / 1_000)
      // An end later than the period's is brought forward to it; the count stays.
      ;(scratch as WindowScratch).spanMs = periodAt(nowMs).endMs - nowMs
      fixedWindow.read(scratch, cells, offset, nowUs)
    },
  }
}
