// The candidates for a limit: the policies of one algorithm and one window, with any limit.
//
// The search relies on this: while none of a key's requests is refused, the key's count does not
// depend on the limit. So the limit that a key needs is the most that was in use when all of its
// requests passed, and a limit refuses the keys that need more. `slidingWindow` counts exactly up
// to a limit of 61, and in whole parts of the window from 62 on, so the rule holds within each of
// these two ranges of limits. A bucket with a larger limit refills faster, so its count does depend
// on the limit; but a key that one limit never refuses, no larger one does either, and that is
// enough to bisect.

import {
  type Duration,
  duration,
  fixedWindow,
  gcra,
  leakyBucket,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import { misuse } from '../errors.js'

/** The algorithms that a limit can be suggested for. */
export type SuggestedAlgorithm =
  | 'sliding-window'
  | 'sliding-log'
  | 'fixed-window'
  | 'sliding-counter'
  | 'token-bucket'
  | 'gcra'
  | 'leaky-bucket'

/** A range of limits for all of which a key's count is the same. */
export interface LimitRange {
  readonly least: number
  readonly most: number
  /** False: the count depends on the limit. */
  readonly isCounted: boolean
  /** In a log whose times do not go back, a key's count is at most this many times its count in the
   *  range before. Undefined: nothing is known. */
  readonly timesBefore?: number
}

export interface Candidates {
  readonly algorithm: SuggestedAlgorithm
  readonly windowMs: number
  readonly ranges: readonly LimitRange[]
  /** Units taken, or in use, never leave more for later requests: where all costs are 1, a larger
   *  limit refuses no more requests. */
  readonly isMonotone: boolean
  policy(limit: number): Policy
}

type Make = (limit: number, window: Duration) => Policy

/** The largest limit of any policy, in units. */
const MOST = 2 ** 50 - 1
/** The largest limit up to which slidingWindow counts exactly. */
const EXACT = 61
const LONGEST_LOG = 100_000
/** Up to this rate, in units per ms, buckets are exact within 1 %. */
const FASTEST_PER_MS = 79

function counted(most: number): readonly LimitRange[] {
  return [{ least: 0, most, isCounted: true }]
}

function refilled(windowMs: number): readonly LimitRange[] {
  return [{ least: 1, most: FASTEST_PER_MS * windowMs, isCounted: false }]
}

interface Kind {
  readonly make: Make
  readonly ranges: (windowMs: number) => readonly LimitRange[]
  readonly isMonotone: boolean
}

const KINDS: Readonly<Record<SuggestedAlgorithm, Kind>> = {
  'sliding-window': {
    make: (limit, window) => slidingWindow({ limit, window }),
    ranges: () => [
      { least: 0, most: EXACT, isCounted: true },
      // What is in use has passed in a window and a part of one, which two windows cover.
      { least: EXACT + 1, most: MOST, isCounted: true, timesBefore: 2 },
    ],
    isMonotone: true,
  },
  'sliding-log': {
    make: (limit, window) => slidingLog({ limit, window }),
    ranges: (windowMs) => counted(windowMs > LONGEST_LOG ? LONGEST_LOG : MOST),
    isMonotone: true,
  },
  'fixed-window': {
    make: (limit, window) => fixedWindow({ limit, window }),
    ranges: () => counted(MOST),
    isMonotone: true,
  },
  'sliding-counter': {
    make: (limit, window) => slidingCounter({ limit, window }),
    ranges: (windowMs) => counted(Math.min(MOST, Math.floor(2 ** 53 / windowMs))),
    // Nothing proves it monotone: a refusal in one window lets more pass in the next.
    isMonotone: false,
  },
  'token-bucket': {
    make: (limit, window) => tokenBucket({ capacity: limit, refill: limit, every: window }),
    ranges: refilled,
    isMonotone: true,
  },
  gcra: {
    make: (limit, window) => gcra({ limit, period: window }),
    ranges: refilled,
    isMonotone: true,
  },
  'leaky-bucket': {
    make: (limit, window) => leakyBucket({ capacity: limit, leak: limit, every: window }),
    ranges: refilled,
    isMonotone: true,
  },
}

/** @throws {SimulateError} WEIR_INVALID_OPTION, and WEIR_INVALID_DURATION of @weir/core */
export function candidatesOf(algorithm: unknown, window: Duration): Candidates {
  if (typeof algorithm !== 'string' || !Object.hasOwn(KINDS, algorithm))
    throw misuse('algorithm', algorithm, Object.keys(KINDS).join(', '))
  const { make, ranges, isMonotone } = KINDS[algorithm as SuggestedAlgorithm]
  const windowMs = duration(window)
  return {
    algorithm: algorithm as SuggestedAlgorithm,
    windowMs,
    ranges: ranges(windowMs),
    isMonotone,
    policy: (limit) => make(limit, windowMs),
  }
}
