// What the simulation knows of each algorithm: what it promises, and what a log cannot tell.

import type { Algorithm, Policy } from '@weir/core'

/** The most that a policy promises to let pass, in any window or in each period. */
export interface Bound {
  readonly units: number
  /** Where the bound holds, and why it is as large as it is. */
  readonly says: string
  /** How long the windows are in which passed units are measured. Undefined: they are measured in
   *  the calendar period in which a request lies. */
  readonly windowMs: number | undefined
}

interface Known {
  readonly bound: (policy: Policy) => Bound
  /** A log moved by a multiple of each of these times, in ms, gets the same decisions. */
  readonly gridMs: (policy: Policy) => readonly number[]
  /** Why the algorithm cannot be simulated. */
  readonly refused?: string
}

const span = ({ windowMs }: Policy): readonly number[] => [windowMs]

function inAnyWindow(units: number, policy: Policy, says: string): Bound {
  return { units, says, windowMs: policy.windowMs }
}

/** In one window: the capacity at once, then a unit every `unitMs`, the last before the end. */
const bucket: Known = {
  bound(policy) {
    const { limit, windowMs, unitMs } = policy
    const units = limit === 0 ? 0 : limit + Math.ceil(windowMs / unitMs) - 1
    return inAnyWindow(
      units,
      policy,
      'in any span in which it fills up: the capacity, and what is refilled',
    )
  },
  gridMs: () => [],
}

const log: Known = {
  bound: (policy) => inAnyWindow(policy.limit, policy, 'in any window: the limit'),
  gridMs: ({ numbers }) => [numbers[2] as number],
}

const ALGORITHMS: Readonly<Record<Algorithm, Known>> = {
  unlimited: {
    bound: (policy) => inAnyWindow(Number.POSITIVE_INFINITY, policy, 'no limit'),
    gridMs: () => [],
  },
  'token-bucket': bucket,
  gcra: bucket,
  'leaky-bucket': bucket,
  'fixed-window': {
    bound(policy) {
      const { limit, kernel } = policy
      if (kernel?.periodAt !== undefined)
        return {
          units: limit,
          says: 'in each period of the calendar: the limit',
          windowMs: undefined,
        }
      return inAnyWindow(
        2 * limit,
        policy,
        'in any span as long as a window: twice the limit, around an edge',
      )
    },
    gridMs: span,
  },
  'sliding-window': log,
  'sliding-log': log,
  'sliding-counter': {
    bound: (policy) =>
      inAnyWindow(
        Math.max(policy.limit, 2 * policy.limit - 1),
        policy,
        'in any window: less than twice the limit, if requests are aimed at the grid',
      ),
    gridMs: span,
  },
  lockout: {
    bound(policy) {
      // A count ends with a block or with its window. A span as long as the window has at most one
      // window's edge in it.
      const blockMs = policy.numbers[4] as number
      const counts = 1 + Math.ceil(policy.windowMs / blockMs)
      const says =
        'in any span as long as a window: the limit, again after each of the first blocks'
      return inAnyWindow(counts * policy.limit, policy, says)
    },
    gridMs: () => [],
  },
  concurrency: {
    bound: (policy) => inAnyWindow(policy.limit, policy, ''),
    gridMs: () => [],
    refused: 'a log says when a request began or ended, not both',
  },
}

/** What a policy promises. */
export function boundOf(policy: Policy): Bound {
  return ALGORITHMS[policy.algorithm].bound(policy)
}

/** See `Known`. */
export function gridOf(policy: Policy): readonly number[] {
  return ALGORITHMS[policy.algorithm].gridMs(policy)
}

/** Why a policy cannot be simulated; undefined: it can. */
export function whyRefused(policy: Policy): string | undefined {
  return ALGORITHMS[policy.algorithm]?.refused
}

/** The unit of time to measure in: us for buckets, whole ms for others, as their kernels count. */
export function unitOf({ kernel }: Policy): 'us' | 'ms' {
  return kernel?.traits.drains === true ? 'us' : 'ms'
}
