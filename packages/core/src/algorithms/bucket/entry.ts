import type { AlgorithmEntry } from '../entry.js'
import { gcra } from './gcra.js'
import { bucket as kernel } from './kernel.js'
import { leakyBucket } from './leaky-bucket.js'
import { tokenBucket } from './token-bucket.js'

/** A bucket of capacity 0 has a rate all the same. */
const rateOf = (limit: number): number => limit || 1

export const bucket: AlgorithmEntry = {
  kernel,
  factories: {
    tokenBucket: {
      create: tokenBucket,
      of: (limit, window) => tokenBucket({ capacity: limit, refill: rateOf(limit), every: window }),
    },
    gcra: {
      create: gcra,
      of: (limit, window) => gcra({ burst: limit, limit: rateOf(limit), period: window }),
    },
    leakyBucket: {
      create: leakyBucket,
      of: (limit, window) => leakyBucket({ capacity: limit, leak: rateOf(limit), every: window }),
    },
  },
  // The rate goes with the capacity: that is one time scale.
  examples: [
    {
      label: 'bucket, 7 per minute',
      limit: 5,
      make: (limit, times = 1) => {
        const refill = (rateOf(limit) * 7) / 5 / times
        return tokenBucket({ name: 'bucket', capacity: limit, refill, every: '1m' })
      },
    },
    {
      label: 'bucket, 333 per second',
      limit: 20,
      make: (limit, times = 1) => {
        const rate = (rateOf(limit) * 333) / 20 / times
        return gcra({ name: 'bucket', burst: limit, limit: rate, period: '1s' })
      },
    },
    {
      label: 'bucket, 99999 per day',
      limit: 40,
      make: (limit, times = 1) => {
        const leak = (rateOf(limit) * 99_999) / 40 / times
        return leakyBucket({ name: 'bucket', capacity: limit, leak, every: '1d' })
      },
    },
  ],
}
