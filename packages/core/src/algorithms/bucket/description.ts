import {
  type AlgorithmDescription,
  inAnyWindow,
  noGrid,
  type PolicyDescription,
  UNITS,
} from '../description.js'
import { gcra, leakyBucket, tokenBucket } from './policies.js'

/** Even a bucket of capacity 0 needs a rate. */
const rateOf = (limit: number): number => limit || 1
/** Up to this rate, in units per ms, buckets are exact within 1 %. */
const FASTEST_PER_MS = 79

/** What the three have in common: the same kernel, in other words. */
const common: Omit<PolicyDescription, 'create' | 'of'> = {
  // The capacity at once, then a unit every `unitMs`, the last before the end.
  bound(policy, ms = policy.windowMs) {
    const { limit, unitMs } = policy
    const units = limit === 0 ? 0 : limit + Math.ceil(ms / unitMs) - 1
    const says = 'in any span in which it fills up: the capacity, and what is refilled'
    return inAnyWindow(units, policy, says)
  },
  gridMs: noGrid,
  limits: {
    ranges: (windowMs) => [{ least: 1, most: FASTEST_PER_MS * windowMs, isCounted: false }],
    isMonotone: true,
  },
  cost: {
    first: 'get set',
    next: 'get incrby',
    denied: 'get',
    peek: 'get',
    bytes: 72,
    batched: 1.5,
    alone: 7.5,
  },
}

export const description: AlgorithmDescription = {
  policies: {
    tokenBucket: {
      ...common,
      create: tokenBucket,
      of: (limit, window, name) =>
        tokenBucket({ name, capacity: limit, refill: rateOf(limit), every: window }),
    },
    gcra: {
      ...common,
      create: gcra,
      of: (limit, window, name) =>
        gcra({ name, burst: limit, limit: rateOf(limit), period: window }),
    },
    leakyBucket: {
      ...common,
      create: leakyBucket,
      of: (limit, window, name) =>
        leakyBucket({ name, capacity: limit, leak: rateOf(limit), every: window }),
    },
  },
  // The rate grows with the capacity, so that the time scale stays the same.
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
  // Prices are rounded.
  longestMs({ numbers: [limit = 0, full = 0, wait = 0] }) {
    const span = limit > 0 ? limit * Math.ceil(full / limit) : 0
    return (1.02 * span + wait) / 8_000 + 3.03
  },
  api: { ...UNITS, wait: 'reserves a turn' },
}
