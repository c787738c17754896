// What is known about a key that may be hot: how many units requests ask for, which leases this
// process holds, and which units are on their way.

import type { Recent } from '../../base/cache.js'
import type { LayerRequest, Pending } from '../../layer.js'
import { isSameUnits } from '../../request.js'
import type { PolicySet, StoreResult } from '../../store.js'
import type { Lease } from './lease.js'

/** A request that waits for units that are on their way. */
export interface WaitingRequest {
  readonly request: LayerRequest
  readonly pending: Pending
  /** When it came. */
  readonly atUs: number
}

/** Units that the store was asked for and has not granted yet. */
export class LeaseRequest {
  readonly count: number
  /** When they were asked for, by the store's clock and by this process's. */
  readonly atUs: number
  readonly atMs: number
  readonly heldMs: number
  /** The requests that get the first of them; more may join. */
  readonly waiting: WaitingRequest[]
  /** Redis must know all that was spent, so what is left is not kept. */
  isUnwanted = false
  /** Units were given back since, so a denial may no longer hold. */
  isOlder = false

  constructor(
    count: number,
    waiting: WaitingRequest[],
    atUs: number,
    atMs: number,
    heldMs: number,
  ) {
    this.count = count
    this.waiting = waiting
    this.atUs = atUs
    this.atMs = atMs
    this.heldMs = heldMs
  }
}

/** A denial that answers later requests as well. */
export interface Refusal {
  readonly result: StoreResult
  readonly atUs: number
  readonly untilUs: number
}

/** A key, or one class of a key that has classes. */
export class HotKey {
  /** The policy set of all the key's classes. */
  readonly policySet: PolicySet
  /** What must remain for others. */
  readonly keep: LayerRequest['keep']
  /** The key's next class. */
  readonly other: HotKey | undefined
  /** The lease that is being spent, and the next one. */
  readonly leases: Lease[] = []
  asked: LeaseRequest | undefined
  /** Units will be asked for in the next turn. */
  isDue = false
  refusal: Refusal | undefined
  /** No units are asked for until then. */
  pausedUntilUs: number = Number.NEGATIVE_INFINITY
  /** Units of the last lease; 0: there was none. */
  size = 0
  roundTripUs = 0
  /** When the last request came. */
  nowUs: number
  #sinceUs: number
  #count = 0
  #countBefore = 0

  constructor(policySet: PolicySet, keep: HotKey['keep'], nowUs: number, other?: HotKey) {
    this.policySet = policySet
    this.keep = keep
    this.other = other
    this.nowUs = nowUs
    this.#sinceUs = nowUs
  }

  /** Notes that requests ask for more units. Returns whether a new interval of counting begins. */
  grow(units: number, nowUs: number, heldUs: number): boolean {
    this.nowUs = nowUs
    const forUs = nowUs - this.#sinceUs
    const isNew = forUs > heldUs || forUs < 0
    if (isNew) {
      this.#countBefore = forUs > 0 && forUs < 2 * heldUs ? this.#count : 0
      this.#sinceUs = nowUs
      this.#count = 0
    }
    this.#count += units
    return isNew
  }

  /** Units that requests ask for while a lease lasts. */
  get demand(): number {
    return this.#count > this.#countBefore ? this.#count : this.#countBefore
  }
}

/** By target, the first class of each key. */
export type Keys = Recent<HotKey>

/** The class of a key for which as much must remain, found from the key's first class. */
export function classOf(first: HotKey | undefined, keep: HotKey['keep']): HotKey | undefined {
  let key = first
  while (key !== undefined && !isSameUnits(key.keep, keep)) key = key.other
  return key
}

/** Waits until units are given back. Then no earlier denial holds, nor one that is on its way. */
export function freeing(keys: Keys, id: string, pending: Pending): Pending {
  const freed = (): void => {
    for (let key = keys.get(id); key !== undefined; key = key.other) {
      key.refusal = undefined
      if (key.asked !== undefined) key.asked.isOlder = true
    }
  }
  return {
    decided(result) {
      freed()
      pending.decided(result)
    },
    failed(error) {
      freed()
      pending.failed(error)
    },
  }
}
