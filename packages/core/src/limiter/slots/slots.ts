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

/** The slots of one policy: each is asked for by itself, as what is true of one need not be of the
 *  others. One may have been reset, or may lie on a node of a Cluster that is away. */
interface SlotsOfPolicy {
  readonly target: Target
  readonly costs: readonly number[]
  /** By what the store knows them. */
  untilUs: readonly number[]
  /** By what this process knows them, where it has renewed them without the store. */
  localUntilUs: readonly number[] | undefined
  /** When they were taken or last renewed, by the store's clock. */
  seenUs: number
}

export class Slots {
  /** What took them. */
  readonly of: StoreRequest
  /** Of the policies that have slots. */
  readonly target: Target
  readonly costs: readonly number[]
  /** For how long they are taken, in ms: the shortest of their policies. */
  readonly holdMs: number
  /** Those that are held, in the order in which they were taken. */
  #all: readonly SlotsOfPolicy[]
  isReleased = false
  /** Called once they are no longer held: released, or forgotten. */
  ended: () => void = () => {}
  /** A renewal that is on its way. */
  renewing: Promise<void> | undefined = undefined

  constructor(request: StoreRequest, places: readonly number[], { nowUs, untilUs }: StoreResult) {
    const { target, costs } = partOfRequest(request, places)
    this.of = request
    this.target = target
    this.costs = costs
    this.holdMs = Math.min(...target.policySet.policies.map(({ windowMs }) => windowMs))
    this.#all = places.map((i) => {
      const of = partOfRequest(request, [i])
      const names = { untilUs: [untilUs[i] as number], localUntilUs: undefined }
      return { target: of.target, costs: of.costs, ...names, seenUs: nowUs }
    })
  }

  /** Renews them. Resolves with whether the store knows of it; rejects never. What was reset since
   *  is held no more. */
  async renew(layer: Layer): Promise<boolean> {
    const answers = await Promise.all(
      this.#all.map(async (each) => {
        try {
          return renewed(each, await promiseOf(layer, requestFor('renew', each)))
        } catch {
          return 'unknown'
        }
      }),
    )
    this.#all = this.#all.filter((_, i) => answers[i] !== 'forgotten')
    if (this.#all.length === 0) this.end()
    return !answers.includes('unknown')
  }

  /** Releases each, whatever becomes of the others. Rejects with what failed first. */
  async release({ layer, freed }: Releasing): Promise<void> {
    const releases = this.#all.map((each) => promiseOf(layer, requestFor('release', each)))
    const results = await Promise.allSettled(releases)
    if (results.some(({ status }) => status === 'fulfilled')) freed(this)
    await Promise.all(releases)
  }

  end(): void {
    if (this.isReleased) return
    this.isReleased = true
    this.ended()
  }
}

function requestFor(mode: SlotRequest['mode'], slots: SlotsOfPolicy): LayerRequest {
  return { mode, count: 1, ...slots }
}

/** Takes the name of a renewal. What decides in the store's place may know of no slots. */
function renewed(
  slots: SlotsOfPolicy,
  { granted, degraded, untilUs, nowUs }: StoreResult,
): 'done' | 'unknown' | 'forgotten' {
  slots.localUntilUs = degraded ? untilUs : undefined
  if (degraded) return 'unknown'
  if (granted === 0) return 'forgotten'
  slots.untilUs = untilUs
  slots.seenUs = nowUs
  return 'done'
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
export async function releaseSlots(releasing: Releasing, slots: Slots): Promise<void> {
  if (slots.isReleased) return
  slots.end()
  // Else in the same turn, so that it shares a write with a settlement.
  if (slots.renewing !== undefined) await slots.renewing
  await slots.release(releasing)
}
