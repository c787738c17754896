import { invalid } from '../../base/errors.js'
import { checkedCount, type Policy } from '../policy.js'
import { type WindowOptions, windowPolicy } from '../window-policy.js'
import { slidingLog as kernel } from './kernel.js'

/** The most entries that a log may hold: about 2 MB a key in Redis. */
const MAX_ENTRIES = 100_000

/**
 * Never more than `limit` units in any window, exact to the millisecond. A key's memory grows with
 * each unit taken, so use it for limits up to a few thousand; `slidingWindow` takes a fraction of
 * it.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example slidingLog({ limit: 5, window: '15m' }) // log-in attempts
 */
export function slidingLog(options: WindowOptions): Policy {
  return windowPolicy('sliding-log', kernel, options, [], (limit, windowMs) => {
    if (Math.min(limit, windowMs) <= MAX_ENTRIES) return [1]
    const right = `at most ${MAX_ENTRIES}, or use slidingWindow`
    throw invalid('WEIR_INVALID_POLICY', 'sliding-log: limit', limit, right, 'number')
  })
}

export interface SlidingWindowOptions extends WindowOptions {
  /**
   * The parts of the window, 2 to 10,000. Default 60. More take more memory, and give units back
   * sooner.
   */
  readonly parts?: number | undefined
}

/**
 * Never more than `limit` units in any window. Units taken in the same part of the window come back
 * together, so at least parts / (parts + 1) of the limit can be used in the long run, 98.4 % by
 * default. A key holds at most parts + 1 entries; limits up to that are exact to the millisecond.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example slidingWindow({ limit: 100, window: '1m' }) // what { limit: 100, window: '1m' } means
 */
export function slidingWindow(options: SlidingWindowOptions): Policy {
  return windowPolicy('sliding-window', kernel, options, ['parts'], (limit, windowMs) => {
    const parts = checkedCount(options.parts ?? 60, 'sliding-window: parts', 10_000, 2)
    return [limit <= parts + 1 ? 1 : Math.ceil(windowMs / parts)]
  })
}
