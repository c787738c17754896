// Requests that wait for slots in this process. They are woken when slots are released here. They
// do not learn of slots that are released elsewhere, so they ask again within a second.

import { countedKey, counterId } from '../../request.js'
import type { StoreRequest, Target } from '../../store.js'
import { isReleased } from './slots.js'

export interface WaitsForSlots {
  wake(): void
}

export class SlotWaits {
  /** By counter, in the order in which they began to wait. */
  readonly #waiting: Map<string, Set<WaitsForSlots>> = new Map()

  add(target: Target, one: WaitsForSlots): void {
    for (const id of countersOf(target)) {
      const known = this.#waiting.get(id)
      if (known === undefined) this.#waiting.set(id, new Set([one]))
      else known.add(one)
    }
  }

  remove(target: Target, one: WaitsForSlots): void {
    for (const id of countersOf(target)) {
      const known = this.#waiting.get(id)
      known?.delete(one)
      if (known?.size === 0) this.#waiting.delete(id)
    }
  }

  /** Wakes one request for each slot released, those that have waited longest first. */
  freed({ target, costs }: Pick<StoreRequest, 'target' | 'costs'>): void {
    if (this.#waiting.size === 0) return
    let slots = Math.max(...costs)
    const woken = new Set<WaitsForSlots>()
    for (const id of countersOf(target)) {
      for (const one of this.#waiting.get(id) ?? []) {
        if (slots === 0) break
        slots -= 1
        woken.add(one)
      }
    }
    for (const one of woken) one.wake()
  }
}

/** The counters of a target's slots. */
function countersOf(target: Target): readonly string[] {
  const { policySet } = target
  return policySet.policies.flatMap((policy, i) =>
    isReleased(policy) ? `${counterId(policySet, policy)} ${countedKey(target, i)}` : [],
  )
}
