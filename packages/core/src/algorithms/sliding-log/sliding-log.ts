import { invalid } from '../../base/errors.js'
import type { Policy } from '../policy.js'
import { type WindowOptions, windowPolicy } from '../window-policy.js'
import { slidingLog as kernel } from './kernel.js'

/** Entries that a log may hold at the most: about 2 MB a key in Redis. */
const MAX_ENTRIES = 100_000

/**
 * Never more than `limit` units in any window, exactly: the log of what was taken, in whole
 * milliseconds. Costs about 20 bytes in Redis per unit of the limit and key, so it is for limits up
 * to some thousands; `slidingWindow` is as strict at a fraction of the memory.
 *
 * A changed limit keeps what was taken, and when; another window is another counter.
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
