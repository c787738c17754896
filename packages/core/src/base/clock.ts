import { invalid } from './errors.js'
import { warnOnce } from './warnings.js'

/** A source of time. */
export interface Clock {
  /** Whole microseconds since the Unix epoch, between the years 2025 and 2045. */
  nowUs(): number
}

/**
 * The origin of times inside stored state: 2025-01-01T00:00:00Z. A fixed recent epoch keeps eighths
 * of a microsecond exact in a double until 2045 (algorithms/bucket) and makes log entries two
 * digits shorter. Never change it: stored state would change its meaning.
 */
export const EPOCH_MS = 1_735_689_600_000
const LAST_MS = 2_366_841_600_000 // 2045-01-01T00:00:00Z
const RIGHT = 'whole microseconds since 1970, between the years 2025 and 2045'

/**
 * Checks each reading of a user's clock: a clock that goes wrong later must not switch limits off.
 * @throws {TypeError | RangeError} WEIR_INVALID_CLOCK, now or from `nowUs`
 */
export function checkedClock(clock: Clock): Clock {
  if (typeof clock?.nowUs !== 'function') {
    throw invalid('WEIR_INVALID_CLOCK', 'clock', clock, 'an object with nowUs(): number')
  }
  const checked: Clock = {
    nowUs() {
      return checkedNow('clock.nowUs()', clock.nowUs())
    },
  }
  checked.nowUs()
  return checked
}

/** Warns of a host's clock whose time is not checked, since it is not an option. */
export function warnOfTime(nowUs: number): void {
  if (isLikely(nowUs)) return
  const what = `the clock of this process says ${new Date(nowUs / 1_000).toISOString()}`
  warnOnce('WEIR_UNLIKELY_TIME', '', `${what}, so limits count less exactly; set it`)
}

function isLikely(nowUs: number): boolean {
  return nowUs >= EPOCH_MS * 1_000 && nowUs <= LAST_MS * 1_000
}

/** @throws {TypeError | RangeError} WEIR_INVALID_CLOCK unless a clock may report this time */
export function checkedNow(what: string, nowUs: number): number {
  if (Number.isInteger(nowUs) && isLikely(nowUs)) return nowUs
  throw invalid('WEIR_INVALID_CLOCK', what, nowUs, RIGHT, 'number')
}
