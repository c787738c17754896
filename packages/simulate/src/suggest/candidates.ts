// The policies among which a limit is looked for: one algorithm and one window, and all limits.
//
// The search relies on this: what is counted of a key while none of its requests is refused does
// not depend on the limit. So the limit that a key needs, to be never refused, is the most that was
// in use when all of its requests passed, and the keys that are refused at a limit are those that
// need more. `slidingWindow` counts in whole parts of the window from a limit of 62 on, and exactly
// below it: that is two ranges of limits, each of which is so. A bucket refills the faster the
// larger its limit is, so what is in use does depend on it; but a key that is not refused at one
// limit is not refused at a larger one, and that is enough to bisect.

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

/** Limits within which one count of a key holds for all. */
export interface LimitRange {
  readonly least: number
  readonly most: number
  /** False: what is in use depends on the limit. */
  readonly isCounted: boolean
}

export interface Candidates {
  readonly algorithm: SuggestedAlgorithm
  readonly windowMs: number
  readonly ranges: readonly LimitRange[]
  /** More units in a request or in use never leave more for later: with costs of 1, a larger limit
   *  refuses no more requests. */
  readonly isMonotone: boolean
  policy(limit: number): Policy
}

type Make = (limit: number, window: Duration) => Policy

/** In whole units, as far as any policy goes. */
const MOST = 2 ** 50 - 1
/** slidingWindow, in its 60 parts. */
const EXACT = 61
const LONGEST_LOG = 100_000
/** Buckets keep a rate of so many units per ms within 1 %. */
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
      { least: EXACT + 1, most: MOST, isCounted: true },
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
    // Nothing proves that it is: what is refused in one window lets more pass in the next.
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
