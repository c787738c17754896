// The candidates for a limit: the policies of one algorithm and one window, with any limit.
//
// The search relies on this: while none of a key's requests is refused, the key's count does not
// depend on the limit. So the limit that a key needs is the most that was in use when all of its
// requests passed, and a limit refuses the keys that need more. `slidingWindow` counts exactly up
// to a limit of 61, and in whole parts of the window from 62 on, so the rule holds within each of
// these two ranges of limits. A bucket with a larger limit refills faster, so its count does depend
// on the limit; but a key that one limit never refuses, no larger one does either, and that is
// enough to bisect.

import { type Duration, duration, type Policy } from '@weir/core'
import type { Algorithm } from '@weir/core/store'
import { algorithms, type LimitRange } from '@weir/core/testing'
import { misuse } from '../errors.js'

export type { LimitRange } from '@weir/core/testing'

export interface Candidates {
  readonly algorithm: Algorithm
  readonly windowMs: number
  readonly ranges: readonly LimitRange[]
  /** Units taken, or in use, never leave more for later requests: where all costs are 1, a larger
   *  limit refuses no more requests. */
  readonly isMonotone: boolean
  policy(limit: number): Policy
}

const suggested = Object.values(algorithms)
  .flatMap(({ policies }) => Object.values(policies))
  .flatMap(({ of, limits }) =>
    limits === undefined ? [] : { of, limits, name: of(1, '1m').algorithm },
  )

/** The algorithms that a limit can be suggested for. */
export const SUGGESTED: readonly Algorithm[] = suggested.map(({ name }) => name)

/** @throws {SimulateError} WEIR_INVALID_OPTION, and WEIR_INVALID_DURATION of @weir/core */
export function candidatesOf(algorithm: unknown, window: Duration): Candidates {
  const known = suggested.find(({ name }) => name === algorithm)
  if (known === undefined) throw misuse('algorithm', algorithm, SUGGESTED.join(', '))
  const { of, limits, name } = known
  const windowMs = duration(window)
  return {
    algorithm: name,
    windowMs,
    ranges: limits.ranges(windowMs),
    isMonotone: limits.isMonotone,
    policy: (limit) => of(limit, windowMs),
  }
}
