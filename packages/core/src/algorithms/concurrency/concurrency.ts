import { type Duration, durationMs, durationText } from '../../base/duration.js'
import { invalid } from '../../base/errors.js'
import { checkedOptions } from '../../base/options.js'
import { checkedCount, makePolicy, type Policy } from '../policy.js'
import { concurrency as kernel } from './kernel.js'

export interface ConcurrencyOptions {
  /** Part of the counter's identity, and what headers call it. Default: the time to hold, as
   *  `concurrency-30s`; in a limiter without a name with the limit, as `concurrency-5-per-30s`. */
  readonly name?: string | undefined
  /** What is counted, for clients that read the `RateLimit-Policy` header. Default
   *  `'concurrent-requests'`. */
  readonly unit?: string | undefined
  /** Slots: how much may be in progress at once. A whole number from 0, which denies all, to
   *  1,000,000. */
  readonly limit: number
  /** After which time the slots of a crashed process are free again: at the latest 61/60 of it.
   *  What is in progress for longer is renewed. 1 s to 1 d. */
  readonly holdTimeout: Duration
}

const MOST_SLOTS = 1_000_000
const LEAST_HOLD_MS = 1_000
const MOST_HOLD_MS = 86_400_000

/**
 * Limits how much is in progress at once, over all processes. A request takes a slot, and gives it
 * back when its work has ended: by `release`, by `hold`, or by the disposal of what `acquire`
 * answered.
 *
 * A changed limit keeps the slots that are taken; another `holdTimeout` is another counter.
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
