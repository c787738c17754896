// The slots that a decision took: how the store knows them, and how they are released. Renewals
// change what they are called, so this is kept with the receipt.

import type { Policy } from '../../algorithms/policy.js'
import { type Layer, type LayerRequest, promiseOf } from '../../layer.js'
import { partOfRequest } from '../../request.js'
import type { SlotRequest, StoreRequest, StoreResult, Target } from '../../store.js'

/** Whether a policy's units are slots. */
export function isOfSlots({ kernel }: Policy): boolean {
  return kernel?.traits.holds === true
}

/** Whether one of a target's policies has slots. */
export function hasSlots({ policySet }: Pick<Target, 'policySet'>): boolean {
  return policySet.policies.some(isOfSlots)
}

export class Slots {
  /** What took them. */
  readonly of: StoreRequest
  /** Of the policies that have slots; others may lie in other hash slots of a Cluster. */
  readonly target: Target
  readonly costs: readonly number[]
  /** For how long they are taken, in ms: the shortest of these policies. */
  readonly holdMs: number
  /** By what the store knows them. */
  #untilUs: readonly number[]
  /** By what this process knows them, where it has renewed them without the store. */
  #localUntilUs: readonly number[] | undefined = undefined
  /** When they were taken, by the store's clock. */
  readonly seenUs: number
  isReleased = false
  /** Called once they are no longer held: released, or forgotten. */
  ended: () => void = () => {}
  /** A renewal that is on its way. */
  renewing: Promise<void> | undefined = undefined

  constructor(request: StoreRequest, places: readonly number[], { nowUs, untilUs }: StoreResult) {
    const part = partOfRequest({ ...request, untilUs } as StoreRequest, places)
    this.of = request
    this.target = part.target
    this.costs = part.costs
    this.#untilUs = part.untilUs ?? []
    this.seenUs = nowUs
    this.holdMs = Math.min(...part.target.policySet.policies.map(({ windowMs }) => windowMs))
  }

  request(mode: SlotRequest['mode']): LayerRequest {
    const { target, costs, seenUs } = this
    const names = { untilUs: this.#untilUs, localUntilUs: this.#localUntilUs }
    return { mode, target, costs, count: 1, ...names, seenUs }
  }

  /** Takes the names of a renewal. One that the store has not granted comes after a reset: these
   *  slots are held no more. (What decides in the store's place may know of no slots.) */
  renewed({ granted, degraded, untilUs }: StoreResult): void {
    this.#localUntilUs = degraded ? untilUs : undefined
    if (!degraded) this.#untilUs = untilUs
    if (granted === 0 && !degraded) this.end()
  }

  end(): void {
    if (this.isReleased) return
    this.isReleased = true
    this.ended()
  }
}

/** The slots that a request took; undefined: none. */
export function slotsTaken(request: StoreRequest, result: StoreResult): Slots | undefined {
  const { target, costs } = request
  const places = target.policySet.policies.flatMap((policy, i) =>
    isOfSlots(policy) && (costs[i] as number) > 0 ? i : [],
  )
  return places.length > 0 ? new Slots(request, places, result) : undefined
}

export interface Releasing {
  readonly layer: Layer
  /** These are free again: whoever waits for them here may ask. */
  freed(slots: Pick<StoreRequest, 'target' | 'costs'>): void
}

/** Releases slots, once. After a renewal that is on its way, as that changes what they are
 *  called. */
export async function releaseSlots({ layer, freed }: Releasing, slots: Slots): Promise<void> {
  if (slots.isReleased) return
  slots.end()
  // Else in the same turn, so that it shares a write with a settlement.
  if (slots.renewing !== undefined) await slots.renewing
  await promiseOf(layer, slots.request('release'))
  freed(slots)
}
