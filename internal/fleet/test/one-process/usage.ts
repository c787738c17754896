// What an algorithm promises, in the simplest terms: of units that were taken at some instants, how
// many are in use at a later one. Each unit counts from when it was requested, so this is never
// more than the algorithm's own count, which begins at the decision. What penalties take beyond the
// limit is not carried into an outage (docs/resilience.md), so the penalties of a bucket or of an
// earlier window count only up to the limit.

import {
  fixedWindow,
  type Policy,
  slidingCounter,
  slidingWindow,
  tokenBucket,
} from '../../../../packages/core/src/index.js'

export const LIMIT = 10
export const WINDOW_MS = 60_000
/** The rounding error of sums of fractions. */
export const ROUNDED = 1e-6

export interface Taken {
  readonly units: number
  readonly askedMs: number
}

export interface Subject {
  readonly policy: Policy
  /**
   * The units in use at an instant, of those that were taken by then, in order.
   * @param most at any time, at most this many of all but the last count as used
   */
  readonly inUse: (taken: readonly Taken[], atMs: number, most?: number) => number
  /** How much more a policy may report as in use, since it counts a unit some ms later. */
  readonly blur: number
}

const inLog: Subject['inUse'] = (taken, atMs) =>
  sum(taken.filter(({ askedMs }) => askedMs > atMs - WINDOW_MS))

const windowOf = (ms: number): number => Math.floor(ms / WINDOW_MS)

const inWindow: Subject['inUse'] = (taken, atMs) =>
  sum(taken.filter(({ askedMs }) => windowOf(askedMs) === windowOf(atMs)))

const inCounter: Subject['inUse'] = (taken, atMs, most = LIMIT) => {
  let window = 0
  let previous = 0
  let current = 0
  const usedAt = (ms: number): number => {
    const passed = windowOf(ms) - window
    if (passed > 0) {
      previous = passed === 1 ? current : 0
      current = 0
      window += passed
    }
    return current + previous * (1 - (ms % WINDOW_MS) / WINDOW_MS)
  }
  taken.forEach(({ units, askedMs }, i) => {
    const room = most - usedAt(askedMs)
    current += i < taken.length - 1 ? Math.min(units, Math.max(0, room)) : units
  })
  return usedAt(atMs)
}

const inBucket: Subject['inUse'] = (taken, atMs, most = LIMIT) => {
  let level = 0
  let lastMs = 0
  const usedAt = (ms: number): number => {
    level = Math.max(0, level - (LIMIT * (ms - lastMs)) / WINDOW_MS)
    lastMs = ms
    return level
  }
  taken.forEach(({ units, askedMs }, i) => {
    const room = most - usedAt(askedMs)
    level += i < taken.length - 1 ? Math.min(units, Math.max(0, room)) : units
  })
  return usedAt(atMs)
}

/** Less than a unit flows into a bucket during all the deadlines of a walk. */
const BUCKET_BLUR = 1

/** Others have the arithmetic of one of these. */
export const SUBJECTS: readonly Subject[] = [
  {
    policy: tokenBucket({ capacity: LIMIT, refill: LIMIT, every: WINDOW_MS }),
    inUse: inBucket,
    blur: BUCKET_BLUR,
  },
  {
    policy: fixedWindow({ limit: LIMIT, window: WINDOW_MS, aligned: true }),
    inUse: inWindow,
    blur: 0,
  },
  { policy: slidingWindow({ limit: LIMIT, window: WINDOW_MS }), inUse: inLog, blur: 0 },
  { policy: slidingCounter({ limit: LIMIT, window: WINDOW_MS }), inUse: inCounter, blur: 0 },
]

export function sum(taken: readonly { readonly units: number }[]): number {
  return taken.reduce((total, { units }) => total + units, 0)
}
