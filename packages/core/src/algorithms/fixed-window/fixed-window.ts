import { durationText } from '../../base/duration.js'
import { invalid } from '../../base/errors.js'
import type { Policy } from '../policy.js'
import { type WindowOptions, windowPolicy } from '../window-policy.js'
import { fixedWindow as kernel } from './kernel.js'

export interface FixedWindowOptions extends WindowOptions {
  /** True: windows start at multiples of `window` since the Unix epoch (UTC days, for one). False,
   *  the default: a key's window starts with its first request. */
  readonly aligned?: boolean | undefined
}

/**
 * `limit` units in each window; then nothing until the window ends. The cheapest policy and the
 * usual one for long quotas. Up to twice the limit can pass around the edge of two windows: where
 * that matters, use `slidingWindow`.
 *
 * A changed limit keeps the count and the end of the running window; another window is another
 * counter.
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example fixedWindow({ name: 'daily', limit: 10_000, window: '1d', aligned: true })
 */
export function fixedWindow(options: FixedWindowOptions): Policy {
  const detailOf = (): number => {
    const { aligned = false } = options
    if (typeof aligned === 'boolean') return aligned ? 1 : 0
    throw invalid('WEIR_INVALID_POLICY', 'fixed-window: aligned', aligned, 'true or false')
  }
  // Windows that begin with a request and windows of the clock are not the same time: they count
  // apart.
  const scaleOf = (windowMs: number): string =>
    durationText(windowMs) + (options.aligned ? '-aligned' : '')
  return windowPolicy('fixed-window', kernel, options, ['aligned'], detailOf, scaleOf)
}
