import type { Duration } from '../../base/duration.js'
import { checkedOptions } from '../../base/options.js'
import type { Policy } from '../policy.js'
import { bucketPolicy } from './policy.js'

export interface GcraOptions {
  /** Part of the counter's identity, and what headers call it. Default: the algorithm and the time
   *  in which it fills up, as `gcra-10s`; in a limiter without a name with the capacity, as
   *  `gcra-20-per-10s`. */
  readonly name?: string | undefined
  /** Units per `period` in the long run. A fraction is allowed; 0 denies all. */
  readonly limit: number
  /** The time in which `limit` units come back, from 1 ms to 3,650 days. */
  readonly period: Duration
  /** The most units that can pass at once. A whole number from 0. Default: `limit`, rounded
   *  down, and at least 1. */
  readonly burst?: number | undefined
  /** How far ahead `wait` may reserve turns. Where it is given, it is part of the time scale.
   *  Default: the time in which all comes back. */
  readonly maxWait?: Duration | undefined
}

/**
 * The generic cell rate algorithm: `limit` units per `period`, evenly spaced but for bursts of up
 * to `burst`. The same arithmetic as `tokenBucket`, in the words of traffic shaping. At most
 * `burst + limit * t / period` in any time t.
 *
 * Changed numbers keep the share that is used where a full burst takes as long to come back (burst
 * * period / limit); else they are another counter.
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example gcra({ limit: 10, period: '1s', burst: 3 }) // one every 100 ms, 3 at once after a pause
 */
export function gcra(options: GcraOptions): Policy {
  const words = ['burst', 'limit', 'period'] as const
  checkedOptions(options, 'gcra()', ['name', 'maxWait', ...words], 'WEIR_INVALID_POLICY')
  const { limit } = options
  const rounded = typeof limit === 'number' && limit > 0 ? Math.max(1, Math.floor(limit)) : 0
  const { burst = rounded } = options
  // A limit of 0 denies all; how fast nothing comes back does not matter.
  const rate = limit === 0 && burst === 0 ? 1 : limit
  const { name, period, maxWait } = options
  return bucketPolicy('gcra', { name, maxWait, burst, limit: rate, period }, words)
}
