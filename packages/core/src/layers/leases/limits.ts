// The options of leases, what a policy set makes of them, and which requests a lease may answer.
//
// Not leased: lock-outs, where each attempt may begin a block; slots, which are released one by
// one; policies with policy keys; those with a `notifyAt`, as units that are only leased cross
// nothing; limits below 20.

import type { Clock } from '../../base/clock.js'
import type { Time } from '../../base/time.js'
import type { LayerRequest } from '../../layer.js'
import type { PolicySet, Target } from '../../store.js'

export interface LeaseOptions {
  /** The most units taken ahead at once. 2 to 10,000. */
  readonly units: number
  /** How long they may be kept, in ms. 5 to 1,000. */
  readonly holdMs: number
}

export interface LeasesOptions extends LeaseOptions {
  readonly time: Time
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
  /** How long a decision may wait for the store, in ms. */
  readonly deadlineMs: number
  /** Whether a denial may answer later requests for a while, as in the deny cache. */
  readonly denialsLast: boolean
  /** Whether units of a target may be taken ahead: not while local quotas hold. Default: always. */
  readonly mayTake?: (target: Target) => boolean
}

export interface LeaseLimits {
  /** Units at once; below FEWEST: nothing is leased. */
  readonly most: number
  /** How long they are kept. */
  readonly heldMs: number
}

export const FEWEST = 2
/** A shorter lease would end before the next one arrives. */
export const LEAST_MS = 5
/** The part of a limit that may be taken ahead at once. */
const PART = 0.1
/** The part of a window for which its units may be kept, if they count as if spent later. */
const AHEAD_PART = 1 / 50
/** The same if it does not matter when within the window they are spent. */
const WINDOW_PART = 1 / 2
const NOTHING: LeaseLimits = { most: 0, heldMs: 0 }

export function limitsFor({ policies }: PolicySet, { units, holdMs }: LeaseOptions): LeaseLimits {
  let most = units
  let heldMs = holdMs
  for (const { limit, windowMs, kernel, notifyAt } of policies) {
    if (kernel?.traits.isLeased !== true || notifyAt !== undefined) return NOTHING
    most = Math.min(most, Math.floor(limit * PART))
    const part = kernel.ahead === undefined ? WINDOW_PART : AHEAD_PART
    heldMs = Math.min(heldMs, Math.floor(windowMs * part))
  }
  return heldMs < LEAST_MS ? NOTHING : { most, heldMs }
}

/** Whether a lease may answer: the same units of each policy, all or nothing. */
export function isLeasable({ mode, target, costs, count, atLeast }: LayerRequest): boolean {
  if (mode !== 'consume' || count !== 1 || atLeast !== undefined) return false
  if (target.policyKeys !== undefined) return false
  const [cost = 0] = costs
  for (let i = 1; i < costs.length; i += 1) if (costs[i] !== cost) return false
  return cost > 0
}
