import type { Duration } from '../../base/duration.js'
import type { Policy } from '../policy.js'
import { bucketPolicy } from './policy.js'

export interface TokenBucketOptions {
  /** Part of the counter's identity, and what headers call it. Default: the algorithm and the time
   *  in which it fills up, as `token-bucket-10s`; in a limiter without a name with the capacity, as
   *  `token-bucket-20-per-10s`. */
  readonly name?: string | undefined
  /** The most units that can pass at once. A whole number from 0, which denies all. It may
   *  take at most 1,826 days to fill up. */
  readonly capacity: number
  /** Units that come back every `every`, one by one and not in steps. Above 0; a fraction is
   *  allowed. */
  readonly refill: number
  /** The time in which `refill` units come back, from 1 ms to 3,650 days. */
  readonly every: Duration
  /** How far ahead `wait` may reserve turns. Where it is given, it is part of the time scale.
   *  Default: the time in which all comes back. */
  readonly maxWait?: Duration | undefined
}

/**
 * A bucket of `capacity` units that fills up at a steady rate: bursts up to the capacity, and the
 * rate in the long run. Starts full. At most `capacity + refill * t / every` units pass in any time
 * t.
 *
 * Changed numbers keep the share that is used where an empty bucket takes as long to fill (capacity
 * * every / refill); else they are another counter.
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example tokenBucket({ capacity: 20, refill: 10, every: '1s' }) // 20 at once, 10 a second
 */
export function tokenBucket(options: TokenBucketOptions): Policy {
  return bucketPolicy('token-bucket', options, ['capacity', 'refill', 'every'])
}
