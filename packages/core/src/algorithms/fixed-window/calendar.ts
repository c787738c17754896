// Windows that are periods of a calendar: hours, days, weeks, months or years of a time zone. The
// arithmetic and the state are those of a fixed window, whose window is what is left of the period.
//
// Redis has no `Intl`, so the process says which period it is, by the last time that the server
// told it. A script that finds its own clock outside of that period changes nothing and replies
// with its time, and is asked once more with the period of that time (redis/transport). If the
// clock has then left that period as well, the call has failed.

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

/** What a period changes in the scratch of a fixed window. */
type WindowScratch = Scratch & { spanMs: number }

/** Whether a window is a period of a calendar. */
export function isCalendarUnit(window: unknown): window is CalendarUnit {
  return typeof window === 'string' && Object.hasOwn(LENGTHS_MS, window)
}

type Made = Pick<Policy, 'kernel' | 'timeScale'>

/** By time scale: policies may be made for each request. */
const made = new Recent<Made>(1_000)

/**
 * The kernel of a period, and the time scale.
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY
 */
export function kernelOf(unit: CalendarUnit, timeZone: string, weekStart: WeekDay): Made {
  if (typeof timeZone !== 'string') throw unknownZone(timeZone)
  // As written: that two names mean one zone may change with the data of zones.
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

/** Numbers: limit, and to Redis start and end of the period, in ms. */
function calendarKernel(periodAt: PeriodAt): Kernel {
  return {
    ...fixedWindow,
    periodAt: (nowUs) => periodAt(Math.floor(nowUs / 1_000)),
    read(scratch, cells, offset, nowUs) {
      const nowMs = Math.floor(nowUs / 1_000)
      // Ends later than the period's are brought forward to it; the count stays.
      ;(scratch as WindowScratch).spanMs = periodAt(nowMs).endMs - nowMs
      fixedWindow.read(scratch, cells, offset, nowUs)
    },
  }
}
