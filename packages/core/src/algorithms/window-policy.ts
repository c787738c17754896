// What policies with a limit and a window share.

import { type Duration, durationMs, durationText } from '../base/duration.js'
import { checkedOptions } from '../base/options.js'
import { type Kernel, MAX_UNITS, type PolicyNumbers } from './algorithm.js'
import { type Algorithm, checkedCount, makePolicy, type Policy } from './policy.js'

export interface WindowOptions {
  /**
   * Part of the counter's identity. Default: algorithm and time scale (`sliding-window-1m`), in a
   * limiter without a name also the limit (`sliding-window-100-per-1m`).
   */
  readonly name?: string | undefined
  /**
   * What is counted, for the `RateLimit-Policy` header: `'tokens'`. Default: requests, which the
   * header does not mention.
   */
  readonly unit?: string | undefined
  /** Units allowed in a window: a whole number from 0, which denies all, to 2^50 - 1. */
  readonly limit: number
  /** From 1 ms to 3,650 days: `60_000` or `'1m'`. */
  readonly window: Duration
  /**
   * Shares of the limit whose crossing is reported, such as `[0.8, 1]`: see docs/budgets.md. Up to
   * 10, above 0 and at most 1, rising.
   */
  readonly notifyAt?: readonly number[] | undefined
}

/**
 * @param known the options beyond those of every window
 * @param othersOf the kernel's numbers after limit and window, which must be such that it can keep
 *   them
 * @param scaleOf the time scale of a window
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 */
export function windowPolicy<Options extends WindowOptions>(
  algorithm: Algorithm,
  kernel: Kernel,
  options: Options,
  known: readonly string[],
  othersOf: (limit: number, windowMs: number) => PolicyNumbers,
  scaleOf: (windowMs: number) => string = durationText,
): Policy {
  const all = ['name', 'unit', 'limit', 'window', ...known, 'notifyAt']
  checkedOptions(options, `${algorithm}()`, all, 'WEIR_INVALID_POLICY')
  const limit = checkedCount(options.limit, `${algorithm}: limit`, MAX_UNITS)
  const windowMs = durationMs(options.window, `${algorithm}: window`)
  return makePolicy({
    name: options.name,
    algorithm,
    limit,
    windowMs,
    timeScale: scaleOf(windowMs),
    unitMs: 0,
    maxWaitMs: 0,
    kernel,
    numbers: [limit, windowMs, ...othersOf(limit, windowMs)],
    options,
  })
}
