import { quote, rangeError } from '../../base/errors.js'
import type { Policy } from '../policy.js'
import { type WindowOptions, windowPolicy } from '../window-policy.js'
import { slidingCounter as kernel } from './kernel.js'

/**
 * About `limit` units in any window: the running window's count plus the part of the previous one
 * that still overlaps. Whoever aims at the edges can get up to twice the limit into one window.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example slidingCounter({ limit: 1_000, window: '1h' })
 */
export function slidingCounter(options: WindowOptions): Policy {
  return windowPolicy('sliding-counter', kernel, options, [], (limit, windowMs) => {
    if (limit * windowMs <= 2 ** 53) return []
    const product = `limit ${quote(limit)} times ${windowMs} ms`
    const problem = `${product} is above 2^53; give a smaller limit or window`
    throw rangeError('WEIR_INVALID_POLICY', `sliding-counter: ${problem}`)
  })
}
