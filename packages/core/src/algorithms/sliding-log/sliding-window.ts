import { checkedCount, type Policy } from '../policy.js'
import { type WindowOptions, windowPolicy } from '../window-policy.js'
import { slidingLog as kernel } from './kernel.js'

export interface SlidingWindowOptions extends WindowOptions {
  /** Into how many parts the window is divided, 2 to 10,000. Default 60. More parts: more memory,
   *  and units come back sooner after they are due. */
  readonly parts?: number | undefined
}

/**
 * Never more than `limit` units in any window. Units taken in the same part of the window come back
 * together, up to one part later than in `slidingLog`. So at least parts / (parts + 1) of the limit
 * can be used in the long run, 98.4 % by default. A key holds at most parts + 1 entries, whatever
 * the limit. Where `limit` needs no more than that, times are exact to the millisecond.
 *
 * A changed limit keeps what was taken, and when; another window is another counter.
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example slidingWindow({ limit: 100, window: '1m' }) // what { limit: 100, window: '1m' } means
 */
export function slidingWindow(options: SlidingWindowOptions): Policy {
  return windowPolicy('sliding-window', kernel, options, ['parts'], (limit, windowMs) => {
    const parts = checkedCount(options.parts ?? 60, 'sliding-window: parts', 10_000, 2)
    return [limit <= parts + 1 ? 1 : Math.ceil(windowMs / parts)]
  })
}
