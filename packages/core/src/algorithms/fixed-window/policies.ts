import { type CalendarUnit, LENGTHS_MS, WEEK_DAYS } from '../../base/calendar.js'
import { type Duration, durationText } from '../../base/duration.js'
import { invalid } from '../../base/errors.js'
import { checkedOptions } from '../../base/options.js'
import { MAX_UNITS } from '../algorithm.js'
import { checkedCount, makePolicy, type Policy } from '../policy.js'
import { type WindowOptions, windowPolicy } from '../window-policy.js'
import { isCalendarUnit, kernelOf } from './calendar.js'
import { fixedWindow as kernel } from './kernel.js'

export interface FixedWindowOptions extends Omit<WindowOptions, 'window'> {
  /**
   * From 1 ms to 3,650 days, or a calendar period. A `'1d'` begins with a key's first request, a
   * `'day'` at midnight.
   */
  readonly window: Duration | 'hour' | 'day' | 'week' | 'month' | 'year'
  /**
   * True: windows start at multiples of `window` since 1970 in UTC. Default false: with a key's
   * first request.
   */
  readonly aligned?: boolean | undefined
  /**
   * The time zone of a calendar period, by a name that `Intl` knows, such as `'Europe/Berlin'`.
   * Default `'UTC'`. Two names of one zone are two counters.
   */
  readonly timeZone?: string | undefined
  /** The first day of a `'week'`. Default `'monday'`. */
  readonly weekStart?:
    | 'sunday'
    | 'monday'
    | 'tuesday'
    | 'wednesday'
    | 'thursday'
    | 'friday'
    | 'saturday'
    | undefined
}

/**
 * `limit` units in each window, then nothing until it ends: usual for long quotas. Up to twice the
 * limit can pass around the edge of two windows.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example fixedWindow({ name: 'daily', limit: 10_000, window: '1d', aligned: true })
 * @example fixedWindow({ limit: 10_000, window: 'month', timeZone: 'Europe/Berlin' })
 */
export function fixedWindow(options: FixedWindowOptions): Policy {
  if (isCalendarUnit(options?.window)) return calendarWindow(options, options.window)
  for (const name of ['timeZone', 'weekStart'] as const) {
    if (options?.[name] === undefined) continue
    const right = "it with a period of the calendar, such as window: 'month'"
    throw invalid('WEIR_INVALID_POLICY', `fixed-window: ${name}`, options[name], right)
  }
  const othersOf = (): number[] => {
    const { aligned = false } = options
    if (typeof aligned === 'boolean') return [aligned ? 1 : 0]
    throw invalid('WEIR_INVALID_POLICY', 'fixed-window: aligned', aligned, 'true or false')
  }
  // Windows that begin with a request and windows aligned to the clock are different times, so they
  // count apart.
  const scaleOf = (windowMs: number): string =>
    durationText(windowMs) + (options.aligned ? '-aligned' : '')
  const known = ['aligned', 'timeZone', 'weekStart'] as const
  return windowPolicy('fixed-window', kernel, options as WindowOptions, known, othersOf, scaleOf)
}

const KNOWN = ['name', 'unit', 'limit', 'window', 'timeZone', 'weekStart', 'notifyAt']

/** `fixedWindow` for a calendar period. */
function calendarWindow(options: FixedWindowOptions, unit: CalendarUnit): Policy {
  const { aligned, ...rest } = options
  if (aligned !== undefined) {
    const right = `nothing: with window: '${unit}' the window is always that of the calendar`
    throw invalid('WEIR_INVALID_POLICY', 'fixed-window: aligned', aligned, right)
  }
  checkedOptions(rest, 'fixed-window()', KNOWN, 'WEIR_INVALID_POLICY')
  const { name, timeZone = 'UTC', weekStart } = options
  if (weekStart !== undefined && (unit !== 'week' || !WEEK_DAYS.includes(weekStart))) {
    const right = unit === 'week' ? `one of ${WEEK_DAYS.join(', ')}` : "it with window: 'week'"
    throw invalid('WEIR_INVALID_POLICY', 'fixed-window: weekStart', weekStart, right, 'string')
  }
  const limit = checkedCount(options.limit, 'fixed-window: limit', MAX_UNITS)
  return makePolicy({
    name,
    algorithm: 'fixed-window',
    limit,
    windowMs: LENGTHS_MS[unit],
    ...kernelOf(unit, timeZone, weekStart ?? 'monday'),
    unitMs: 0,
    maxWaitMs: 0,
    numbers: [limit, 0, 0],
    options: rest,
  })
}
