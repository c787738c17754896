// What was admitted without the store under one counter. Limits of one time scale share a counter,
// so it counts in units of the largest of them.

import type { Policy } from '../../algorithms/policy.js'
import type { LayerRequest } from '../../layer.js'
import { partOfTarget } from '../../request.js'
import type { RestoreRequest, Target } from '../../store.js'

/** Rounding errors in sums of fractional units are smaller. */
export const ROUNDING = 1e-6

/** A request that waits until something is counted. */
export interface CountListener {
  /** @param failure why it could not be counted; undefined: it was, or never can be */
  counted(failure: Error | undefined): void
}

export class Admitted {
  readonly id: string
  /** Of this counter alone, with the largest limit. */
  target: Target
  /** Fractional if units of a bucket with another capacity are among them. */
  units = 0
  /** The request that restores what was last seen of the counter in the store. */
  seen: RestoreRequest | undefined = undefined
  untilUs: number | undefined = undefined
  /** What was seen may be lost, and is to be restored although nothing was admitted. */
  isSuspect = false
  /** Which loss of its node it was restored after: the time of that loss. */
  restoredUs = 0
  /** Settlements of this counter that the store may not have made, by the requests that they are
   *  parts of. */
  readonly settlements: Map<LayerRequest, LayerRequest> = new Map()
  /** Until when the units counted that were dropped as expired. */
  overUs = 0
  /** Undefined: no request to count it in the store is under way. */
  waiting: CountListener[] | undefined = undefined

  constructor(id: string, target: Target) {
    this.id = id
    this.target = target
  }

  get isOwed(): boolean {
    return this.isUncounted || this.isSuspect || this.waiting !== undefined
  }

  /** Units, or settlements, are yet to be counted in the store. */
  get isUncounted(): boolean {
    return this.units >= ROUNDING || this.settlements.size > 0
  }

  /** The units that the store is to count, rounded up. */
  get wholeUnits(): number {
    return Math.ceil(this.units - ROUNDING)
  }

  /** Adds units of a target's policy. Negative units take away at most as many as there are. */
  add(target: Target, place: number, units: number): void {
    const policy = target.policySet.policies[place] as Policy
    const known = this.#policy
    if (units > 0 && policy.limit > known.limit) {
      this.units *= weightOf(known, policy)
      this.target = partOfTarget(target, [place])
    }
    this.units = Math.max(0, this.units + units * weightOf(policy, this.#policy))
  }

  /** Drops units that no longer count, so that the next window's are not added to them. */
  dropExpired(nowUs: number): void {
    if (this.untilUs === undefined || !isOver(this.untilUs, nowUs)) return
    this.units = 0
    this.overUs = this.untilUs
  }

  get #policy(): Policy {
    return this.target.policySet.policies[0] as Policy
  }
}

/** What one policy's unit is in units of another that shares its counters: a bucket that holds
 *  twice as much in the same time has units of half the size. */
function weightOf(policy: Policy, other: Policy): number {
  const weight = policy.unitMs / other.unitMs
  return policy.kernel?.traits.drains && Number.isFinite(weight) ? weight : 1
}

export function isOver(untilUs: number | undefined, nowUs: number): boolean {
  return untilUs !== undefined && Math.floor(untilUs / 1_000) <= Math.floor(nowUs / 1_000)
}
