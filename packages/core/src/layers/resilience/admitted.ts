// What was admitted without the store under one counter. Requests of several limits of one time
// scale share it, so it counts in units of the largest of them.

import type { Policy } from '../../algorithms/policy.js'
import type { LayerRequest } from '../../layer.js'
import { partOfTarget } from '../../request.js'
import type { Target } from '../../store.js'

/** Sums of parts of a unit are off by less. */
export const ROUNDING = 1e-6

/** A request that waits until something is counted. */
export interface Waiting {
  /** @param failure why it could not be counted; undefined: it was, or never can be */
  counted(failure: Error | undefined): void
}

export class Admitted {
  readonly id: string
  /** Of this counter alone, with the largest limit. */
  target: Target
  /** Not whole where units of a bucket of another capacity are among them. */
  units = 0
  /** What restores what was last seen of it in the store, before. */
  seen: LayerRequest | undefined = undefined
  untilUs: number | undefined = undefined
  /** Until when those counted that no longer do. */
  overUs = 0
  /** Undefined: no request to count it in the store is under way. */
  waiting: Waiting[] | undefined = undefined

  constructor(id: string, target: Target) {
    this.id = id
    this.target = target
  }

  get isOwed(): boolean {
    return this.units >= ROUNDING || this.waiting !== undefined
  }

  /** The units that the store is to count, rounded up. */
  get wholeUnits(): number {
    return Math.ceil(this.units - ROUNDING)
  }

  /** Adds units of a policy of a target, or takes away as many as there are. */
  add(target: Target, place: number, units: number): void {
    const policy = target.policySet.policies[place] as Policy
    const known = this.#policy
    if (units > 0 && policy.limit > known.limit) {
      this.units *= weightOf(known, policy)
      this.target = partOfTarget(target, [place])
    }
    this.units = Math.max(0, this.units + units * weightOf(policy, this.#policy))
  }

  /** Units that no longer count are not counted with those of the next window. */
  dropExpired(nowUs: number): void {
    if (this.untilUs === undefined || !isOver(this.untilUs, nowUs)) return
    this.units = 0
    this.overUs = this.untilUs
  }

  get #policy(): Policy {
    return this.target.policySet.policies[0] as Policy
  }
}

/** What a unit of a policy is in units of another one that shares its counters: a bucket that
 *  holds twice as much in the same time has units of half the size. */
function weightOf(policy: Policy, other: Policy): number {
  const weight = policy.unitMs / other.unitMs
  return policy.kernel?.traits.drains && Number.isFinite(weight) ? weight : 1
}

export function isOver(untilUs: number | undefined, nowUs: number): boolean {
  return untilUs !== undefined && Math.floor(untilUs / 1_000) <= Math.floor(nowUs / 1_000)
}
