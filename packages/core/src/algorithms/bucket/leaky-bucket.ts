import type { Duration } from '../../base/duration.js'
import type { Policy } from '../policy.js'
import { bucketPolicy } from './policy.js'

export interface LeakyBucketOptions {
  /** Part of the counter's identity, and what headers call it. Default: the algorithm and the time
   *  in which it fills up, as `leaky-bucket-10s`; in a limiter without a name with the capacity, as
   *  `leaky-bucket-20-per-10s`. */
  readonly name?: string | undefined
  /** How much the bucket holds. A whole number from 0, which denies all. It may take at
   *  most 1,826 days to leak out. */
  readonly capacity: number
  /** Units that leak out every `every`, steadily. Above 0; a fraction is allowed. */
  readonly leak: number
  /** The time in which `leak` units leak out, from 1 ms to 3,650 days. */
  readonly every: Duration
  /** How far ahead `wait` may reserve turns. Where it is given, it is part of the time scale.
   *  Default: the time in which all comes back. */
  readonly maxWait?: Duration | undefined
}

/**
 * A bucket that requests fill and that leaks at a steady rate; what would overflow it is denied.
 * The same arithmetic as `tokenBucket`, seen from below. At most `capacity + leak * t / every`
 * units pass in any time t.
 *
 * Changed numbers keep the share that is used where a full bucket takes as long to leak out
 * (capacity * every / leak); else they are another counter.
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example leakyBucket({ capacity: 5, leak: 1, every: '1s' })
 */
export function leakyBucket(options: LeakyBucketOptions): Policy {
  return bucketPolicy('leaky-bucket', options, ['capacity', 'leak', 'every'])
}
