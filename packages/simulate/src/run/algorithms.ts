// What the simulation asks the descriptions of algorithms.

import type { Policy } from '@weir/core'
import { kernelOf } from '@weir/core/internal'
import { type Bound, descriptionOf } from '@weir/core/testing'

/** What a policy promises. */
export function boundOf(policy: Policy): Bound {
  const unlimited = { units: Number.POSITIVE_INFINITY, says: 'no limit', windowMs: 0 }
  return descriptionOf(policy.algorithm)?.bound(policy) ?? unlimited
}

/** A log moved by a multiple of each of these times, in ms, gets the same decisions. */
export function gridOf(policy: Policy): readonly number[] {
  return descriptionOf(policy.algorithm)?.gridMs(policy) ?? []
}

/** Why a policy cannot be simulated; undefined: it can. */
export function whyRefused({ algorithm }: Policy): string | undefined {
  return descriptionOf(algorithm)?.notInLogs
}

/** The unit of time to measure in: us for buckets, whole ms for others, as their kernels count. */
export function unitOf(policy: Policy): 'us' | 'ms' {
  return kernelOf(policy)?.traits.drains === true ? 'us' : 'ms'
}
