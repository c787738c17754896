// All algorithms, for suites and tools that look at each of them. Nothing that index.ts imports may
// import this file, or every bundle would contain all algorithms.

import type { Kernel } from '../algorithms/algorithm.js'
import { bucket as bucketKernel } from '../algorithms/bucket/kernel.js'
import { gcra, leakyBucket, tokenBucket } from '../algorithms/bucket/policies.js'
import { concurrency as concurrencyKernel } from '../algorithms/concurrency/kernel.js'
import { concurrency } from '../algorithms/concurrency/policies.js'
import { fixedWindow as fixedWindowKernel } from '../algorithms/fixed-window/kernel.js'
import { fixedWindow } from '../algorithms/fixed-window/policies.js'
import { lockout as lockoutKernel } from '../algorithms/lockout/kernel.js'
import { lockout } from '../algorithms/lockout/policies.js'
import type { Policy } from '../algorithms/policy.js'
import { slidingCounter as slidingCounterKernel } from '../algorithms/sliding-counter/kernel.js'
import { slidingCounter } from '../algorithms/sliding-counter/policies.js'
import { slidingLog as slidingLogKernel } from '../algorithms/sliding-log/kernel.js'
import { slidingLog, slidingWindow } from '../algorithms/sliding-log/policies.js'
import type { Duration } from '../base/duration.js'

export interface AlgorithmEntry {
  readonly kernel: Kernel
  /** The factories of its policies, by their names. */
  readonly factories: Readonly<Record<string, PolicyFactory>>
  /** Policies that a store has to keep exactly, with numbers that divide badly. */
  readonly examples: readonly PolicyExample[]
}

export interface PolicyFactory {
  /** The factory itself, for any of its options. */
  readonly create: (options: never) => Policy
  /** Makes a policy from a limit, which comes back in `window`. */
  readonly of: (limit: number, window: Duration, name?: string) => Policy
}

/**
 * Letters of the contract (docs/algorithms.md) that an algorithm may be exempt from:
 * - `a`: the refusal that begins a block changes the state
 * - `b`: the wait is a hint, as nobody knows when a slot is released
 * - `d`: after its reset a key still has its level
 * - `k`: under several limits more may pass than under the most generous alone, because that one
 *   blocks keys that take all there is
 *
 * And `by-key`: units can be given back only by naming their decision.
 */
export type Letter = 'a' | 'b' | 'd' | 'k' | 'by-key'

export interface PolicyExample {
  readonly label: string
  readonly limit: number
  /** Makes the policy with a limit, on a time scale that is `times` the usual one. Default 1. */
  readonly make: (limit: number, times?: number) => Policy
  /** The parts of the contract that it does not keep. Default: it keeps all. */
  readonly exempt?: readonly Letter[] | undefined
}

/** Even a bucket of capacity 0 needs a rate. */
const rateOf = (limit: number): number => limit || 1

const bucket: AlgorithmEntry = {
  kernel: bucketKernel,
  factories: {
    tokenBucket: {
      create: tokenBucket,
      of: (limit, window, name) =>
        tokenBucket({ name, capacity: limit, refill: rateOf(limit), every: window }),
    },
    gcra: {
      create: gcra,
      of: (limit, window, name) =>
        gcra({ name, burst: limit, limit: rateOf(limit), period: window }),
    },
    leakyBucket: {
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
}

const windows: AlgorithmEntry = {
  kernel: fixedWindowKernel,
  factories: {
    fixedWindow: {
      create: fixedWindow,
      of: (limit, window, name) => fixedWindow({ name, limit, window }),
    },
  },
  examples: [
    {
      label: 'fixed window from the first request',
      limit: 7,
      make: (limit, times = 1) => fixedWindow({ name: 'fixed', limit, window: times * 10_000 }),
    },
    {
      label: 'fixed window, aligned',
      limit: 7,
      make: (limit, times = 1) =>
        fixedWindow({ name: 'fixed', limit, window: times * 420_000, aligned: true }),
    },
    {
      label: 'fixed window, of the calendar',
      limit: 7,
      make: (limit, times = 1) => {
        const window = (['day', 'week', 'month'] as const)[times - 1] ?? 'year'
        return fixedWindow({ name: 'fixed', limit, window, timeZone: 'America/New_York' })
      },
    },
  ],
}

const logs: AlgorithmEntry = {
  kernel: slidingLogKernel,
  factories: {
    slidingWindow: {
      create: slidingWindow,
      of: (limit, window, name) => slidingWindow({ name, limit, window }),
    },
    slidingLog: {
      create: slidingLog,
      of: (limit, window, name) => slidingLog({ name, limit, window }),
    },
  },
  examples: [
    {
      label: 'exact log',
      limit: 7,
      make: (limit, times = 1) => slidingLog({ name: 'log', limit, window: times * 10_000 }),
    },
    {
      label: 'sliding window of 10 parts',
      limit: 30,
      make: (limit, times = 1) =>
        slidingWindow({ name: 'log', limit, window: times * 7_000, parts: 10 }),
    },
  ],
}

const counters: AlgorithmEntry = {
  kernel: slidingCounterKernel,
  factories: {
    slidingCounter: {
      create: slidingCounter,
      of: (limit, window, name) => slidingCounter({ name, limit, window }),
    },
  },
  examples: [
    {
      label: 'sliding counter',
      limit: 9,
      make: (limit, times = 1) =>
        slidingCounter({ name: 'counter', limit, window: times * 10_000 }),
    },
  ],
}

const lockouts: AlgorithmEntry = {
  kernel: lockoutKernel,
  factories: {
    lockout: {
      create: lockout,
      of: (limit, window, name) =>
        lockout({ name, limit, window, block: [window], forget: window }),
    },
  },
  examples: [
    {
      label: 'lock-out',
      limit: 7,
      make: (limit, times = 1) => lockoutOf(limit, times, 'limit'),
      exempt: ['d', 'k'],
    },
    {
      label: 'lock-out by the excess',
      limit: 7,
      make: (limit, times = 1) => lockoutOf(limit, times, 'excess'),
      exempt: ['a', 'd', 'k'],
    },
  ],
}

function lockoutOf(limit: number, times: number, starts: 'limit' | 'excess'): Policy {
  const block = [1_000, 7_000, 30_000] as const
  return lockout({ name: 'lockout', limit, window: times * 10_000, block, forget: '1m', starts })
}

const slots: AlgorithmEntry = {
  kernel: concurrencyKernel,
  factories: {
    concurrency: {
      create: concurrency,
      of: (limit, window, name) => concurrency({ name, limit, holdTimeout: window }),
    },
  },
  examples: [
    {
      label: 'slots',
      limit: 7,
      make: (limit, times = 1) =>
        concurrency({ name: 'slots', limit, holdTimeout: times * 10_007 }),
      exempt: ['b', 'by-key'],
    },
  ],
}

/** By the names of their folders. */
export const algorithms: Readonly<Record<string, AlgorithmEntry>> = {
  bucket,
  'fixed-window': windows,
  'sliding-log': logs,
  'sliding-counter': counters,
  lockout: lockouts,
  concurrency: slots,
}

const entries: readonly AlgorithmEntry[] = Object.values(algorithms)

/** The factories of all algorithms, by their names. */
export const policyFactories: Readonly<Record<string, PolicyFactory>> = Object.assign(
  {},
  ...entries.map(({ factories }) => factories),
)

export const policyExamples: readonly PolicyExample[] = entries.flatMap(({ examples }) => examples)
