// What is known of a key that may be hot: how often it is asked for, what is held of it, and what
// is on its way.

import type { Recent } from '../../base/cache.js'
import type { LayerRequest, Pending } from '../../layer.js'
import { isSameKeep } from '../../request.js'
import type { PolicySet, StoreResult } from '../../store.js'
import type { Lease } from './lease.js'

/** A request that waits for units that are asked for. */
export interface Waiting {
  readonly request: LayerRequest
  readonly pending: Pending
  /** When it came. */
  readonly atUs: number
}

/** Units that are asked for. */
export class Asked {
  readonly count: number
  /** When, on the store's clock, and on this process's. */
  readonly atUs: number
  readonly atMs: number
  readonly heldMs: number
  /** For whom the first of them are; more may come. */
  readonly waiting: Waiting[]
  /** Redis is to know all: what is left is not kept. */
  isUnwanted = false
  /** Units were given back since, so a denial may not hold any more. */
  isOlder = false

  constructor(count: number, waiting: Waiting[], atUs: number, atMs: number, heldMs: number) {
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

/** A key, or of one that has classes one of them. */
export class HotKey {
  /** That of all classes of the key. */
  readonly policySet: PolicySet
  /** What must remain for others. */
  readonly keep: LayerRequest['keep']
  /** Another class of the key. */
  readonly other: HotKey | undefined
  /** The one that is spent, and the next one. */
  readonly leases: Lease[] = []
  asked: Asked | undefined
  /** Units are to be asked for in the next turn. */
  isDue = false
  refusal: Refusal | undefined
  /** No units are asked for until then. */
  pausedUntilUs: number = Number.NEGATIVE_INFINITY
  /** Of the last lease; 0: there was none. */
  size = 0
  roundTripUs = 0
  /** Of the last request. */
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

  /** Notes that more units are asked for. Returns whether a new stretch of time begins. */
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

  /** Units that are asked for while a lease lasts. */
  get demand(): number {
    return this.#count > this.#countBefore ? this.#count : this.#countBefore
  }
}

/** By the target, the first class of each. */
export type Keys = Recent<HotKey>

/** A class of a key, of which the first is given. */
export function classOf(first: HotKey | undefined, keep: HotKey['keep']): HotKey | undefined {
  let key = first
  while (key !== undefined && !isSameKeep(key.keep, keep)) key = key.other
  return key
}

/** Waits for units that are given back: then no denial of before holds, nor one that is on its
 *  way. */
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
