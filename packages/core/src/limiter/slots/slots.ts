// The slots that a decision took: the names by which the store knows them, and how they are
// released. Renewals change the names, so they are kept with the receipt.

import type { Policy } from '../../algorithms/policy.js'
import { type Layer, type LayerRequest, promiseOf } from '../../layer.js'
import { partOfRequest } from '../../request.js'
import type { SlotRequest, StoreRequest, StoreResult, Target } from '../../store.js'

/** Whether a policy's units are held while work is in progress. */
export function isHeld({ kernel }: Policy): boolean {
  return kernel?.traits.isHeld === true
}

function holdMsOf({ kernel, numbers }: Policy): number {
  return kernel?.holdMs?.(numbers) ?? Number.POSITIVE_INFINITY
}

/** Whether one of a target's policies has units that are held. */
export function hasHeld({ policySet }: Pick<Target, 'policySet'>): boolean {
  return policySet.policies.some(isHeld)
}

/** Whether a policy's units are slots, which only a release gives back. */
export function isReleased({ kernel }: Policy): boolean {
  return kernel?.traits.isReleased === true
}

/** Whether one of a target's policies has slots. */
export function hasReleased({ policySet }: Pick<Target, 'policySet'>): boolean {
  return policySet.policies.some(isReleased)
}

/** The slots of one policy. The store is asked for each policy by itself, as the slots of one may
 *  have been reset, or may lie on a node of a Cluster that is away. */
interface SlotsOfPolicy {
  readonly place: number
  readonly target: Target
  readonly costs: readonly number[]
  /** The names by which the store knows them, or UNNAMED. */
  untilUs: readonly number[]
  /** The names by which this process knows them, if it has renewed them without the store. */
  localUntilUs: readonly number[] | undefined
  /** When they were taken or last renewed, by the store's clock. */
  seenUs: number
}

/** An estimate has another name by now if the store has renewed it, though it has not said so. By
 *  this one, which has expired, the store finds nothing, also no units of others: it holds the
 *  estimate anew, or charges what was used. What it holds already counts until it expires. */
const UNNAMED: readonly number[] = Object.freeze([0])

export class Slots {
  /** The request that took them. */
  readonly of: StoreRequest
  /** The target, with the policies that have slots. */
  readonly target: Target
  readonly costs: readonly number[]
  /** How long they are taken for, in ms: the shortest time of their policies. */
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
    this.holdMs = Math.min(...target.policySet.policies.map(holdMsOf))
    this.#all = places.map((i) => {
      const of = partOfRequest(request, [i])
      const names = { untilUs: [untilUs[i] as number], localUntilUs: undefined }
      return { place: i, target: of.target, costs: of.costs, ...names, seenUs: nowUs }
    })
  }

  /** Renews them. Resolves to whether the store knows of it; never rejects. Slots that were reset
   *  since are no longer held. */
  async renew(layer: Layer): Promise<boolean> {
    const answers = await Promise.all(this.#all.map((each) => renewedIn(layer, each)))
    this.#all = this.#all.filter((_, i) => answers[i] !== 'forgotten')
    if (this.#all.length === 0) this.end()
    return !answers.includes('unknown')
  }

  /** Releases each, even if others fail. Rejects with the first failure. */
  async release({ layer, freed }: Releasing): Promise<void> {
    const slots = this.#all.filter(({ target }) => hasReleased(target))
    const releases = slots.map((each) => promiseOf(layer, requestFor('release', each)))
    const results = await Promise.allSettled(releases)
    if (results.some(({ status }) => status === 'fulfilled')) freed(this)
    await Promise.all(releases)
  }

  /** The names of what was charged, with those that renewals gave to what is held. */
  named(untilUs: readonly number[]): readonly number[] {
    const names = [...untilUs]
    for (const { place, untilUs } of this.#all) names[place] = untilUs[0] as number
    return names
  }

  /** What a settlement spends is no longer held; slots are. */
  settled(): void {
    this.#all = this.#all.filter(({ target }) => hasReleased(target))
    if (this.#all.length === 0) this.end()
  }

  end(): void {
    if (this.isReleased) return
    this.isReleased = true
    this.ended()
  }
}

function requestFor(
  mode: SlotRequest['mode'],
  { place: _, ...slots }: SlotsOfPolicy,
): LayerRequest {
  return { mode, count: 1, ...slots }
}

async function renewedIn(
  layer: Layer,
  slots: SlotsOfPolicy,
): Promise<'done' | 'unknown' | 'forgotten'> {
  let isUndone = false
  function inStore(result: StoreResult | undefined): void {
    if (result === undefined) isUndone = true
    else if (result.granted > 0 && slots.untilUs === UNNAMED) slots.untilUs = result.untilUs
  }
  const request = { ...requestFor('renew', slots), inStore }
  const answer = await promiseOf(layer, request).then(
    (result) => renewed(slots, result),
    () => 'unknown' as const,
  )
  const isLost = answer === 'unknown' && !isUndone
  if (isLost && !hasReleased(slots.target)) slots.untilUs = UNNAMED
  return answer
}

/** Takes over the names that a renewal gave. If something else decides in the store's place, it may
 *  know of no slots. */
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

function isTaken(policy: Policy, place: number, { untilUs }: StoreResult): boolean {
  return isHeld(policy) && (isReleased(policy) || isNamed(untilUs[place] as number))
}

/** Whether the store holds an estimate that counts until a time: it is neither spent (`Infinity`),
 *  nor let pass without being counted (0). */
export function isNamed(untilUs: number): boolean {
  return untilUs > 0 && untilUs < Number.POSITIVE_INFINITY
}

/** The slots that a request took; undefined: it took none. */
export function slotsTaken(request: StoreRequest, result: StoreResult): Slots | undefined {
  const { target, costs } = request
  const places = target.policySet.policies.flatMap((policy, i) =>
    isTaken(policy, i, result) && (costs[i] as number) > 0 ? i : [],
  )
  return places.length > 0 ? new Slots(request, places, result) : undefined
}

export interface Releasing {
  readonly layer: Layer
  /** These slots are free again, so the calls that wait for them here may ask. */
  freed(slots: Pick<StoreRequest, 'target' | 'costs'>): void
}

/** Releases slots, once. Waits for a renewal that is under way, as that changes their names. */
export async function releaseSlots(releasing: Releasing, slots: Slots): Promise<void> {
  if (slots.isReleased) return
  slots.end()
  // Otherwise, they are released in the same turn, to share a write with a settlement.
  if (slots.renewing !== undefined) await slots.renewing
  await slots.release(releasing)
}
