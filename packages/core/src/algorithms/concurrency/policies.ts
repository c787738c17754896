import { type Duration, durationMs, durationText } from '../../base/duration.js'
import { invalid } from '../../base/errors.js'
import { checkedOptions } from '../../base/options.js'
import { checkedCount, makePolicy, type Policy } from '../policy.js'
import { concurrency as kernel } from './kernel.js'

export interface ConcurrencyOptions {
  /**
   * Part of the counter's identity. Default: algorithm and time scale (`sliding-window-1m`), in a
   * limiter without a name also the limit (`sliding-window-100-per-1m`).
   */
  readonly name?: string | undefined
  /** What is counted, for the `RateLimit-Policy` header. Default `'concurrent-requests'`. */
  readonly unit?: string | undefined
  /** How many slots there are: a whole number from 0, which denies all, to 1,000,000. */
  readonly limit: number
  /**
   * When a crashed process's slots are free again, 1 s to 1 d. Slots of longer work are renewed.
   */
  readonly holdTimeout: Duration
}

const MOST_SLOTS = 1_000_000
const LEAST_HOLD_MS = 1_000
const MOST_HOLD_MS = 86_400_000

/**
 * Limits how many requests are in progress at once, over all processes: see docs/concurrency.md.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example concurrency({ limit: 5, holdTimeout: '30s' })
 */
export function concurrency(options: ConcurrencyOptions): Policy {
  const known = ['name', 'unit', 'limit', 'holdTimeout']
  checkedOptions(options, 'concurrency()', known, 'WEIR_INVALID_POLICY')
  const limit = checkedCount(options.limit, 'concurrency: limit', MOST_SLOTS)
  const { holdTimeout } = options
  const holdMs = durationMs(holdTimeout, 'concurrency: holdTimeout')
  if (holdMs < LEAST_HOLD_MS || holdMs > MOST_HOLD_MS) {
    const right = 'from 1 s to 1 d'
    const type = typeof holdTimeout
    throw invalid('WEIR_INVALID_POLICY', 'concurrency: holdTimeout', holdTimeout, right, type)
  }
  return makePolicy({
    name: options.name,
    algorithm: 'concurrency',
    limit,
    windowMs: holdMs,
    timeScale: durationText(holdMs),
    unitMs: 0,
    maxWaitMs: 0,
    kernel,
    numbers: [limit, holdMs],
    options: { ...options, unit: options.unit ?? 'concurrent-requests' },
  })
}
