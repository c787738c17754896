// What was admitted without the store and is yet to be counted in it, by counter: every request
// that reads a counter finds what is missing there, whichever key or limit it names.

import { traitsOf } from '../../algorithms/modes.js'
import type { Policy } from '../../algorithms/policy.js'
import type { Clock } from '../../base/clock.js'
import type { LayerRequest } from '../../layer.js'
import { partOfRequest, partOfTarget } from '../../request.js'
import type { StoreResult, Target } from '../../store.js'
import { Admitted, isOver, ROUNDING } from './admitted.js'
import { counterIds } from './counter-ids.js'
import type { Seen } from './last-seen.js'
import { restoring } from './restoring.js'

/** How many entries of a full table are examined when one must make room. */
const LOOKS = 8
const ENTRIES_PER_STEP = 2_000

export class Ledger {
  readonly #admitted: Map<string, Admitted> = new Map()
  readonly #idOf: (target: Target, place: number) => string = counterIds()
  /** The store's time as this process knows it. */
  readonly #clock: Clock
  readonly #maxKeys: number
  /** The rest of the entries to search for one that can make room. */
  #looks: IterableIterator<Admitted> | undefined

  /** @param maxKeys the most counters that it remembers */
  constructor(clock: Clock, maxKeys: number) {
    this.#clock = clock
    this.#maxKeys = maxKeys
  }

  get keys(): number {
    return this.#admitted.size
  }

  /** The store's time as this process knows it; 0 if a user's clock throws: then nothing is known
   *  to have expired. */
  nowUs(): number {
    try {
      return this.#clock.nowUs()
    } catch {
      return 0
    }
  }

  /** What was admitted under the counter of a target's policy and still counts. */
  of(target: Target, place: number): Admitted | undefined {
    const admitted = this.#admitted.get(this.#idOf(target, place))
    if (admitted !== undefined) admitted.dropExpired(this.nowUs())
    return admitted
  }

  /**
   * Makes an entry for what is admitted under a counter; undefined: there is no room, and it is not
   * counted.
   * @param units the units that the request asks for
   */
  remember(target: Target, place: number, units: number): Admitted | undefined {
    if (this.keys >= this.#maxKeys) this.#makeRoom(units)
    if (this.keys >= this.#maxKeys) return undefined
    const id = this.#idOf(target, place)
    const admitted = new Admitted(id, partOfTarget(target, [place]))
    this.#admitted.set(id, admitted)
    return admitted
  }

  /** Notes what the fallback has begun with. */
  saw(admitted: Admitted, target: Target, place: number, seen: Seen): void {
    const remaining = [seen.remaining[place] as number]
    const untilUs = [seen.untilUs[place] as number]
    const own = { nowUs: seen.nowUs, remaining, untilUs, blocks: [seen.blocks?.[place]] }
    admitted.seen = restoring(partOfTarget(target, [place]), own)
  }

  /** Entries for what was seen of a target and may be lost, to be restored. */
  suspect(target: Target, seen: Seen): Admitted[] {
    const suspects: Admitted[] = []
    for (let place = 0; place < target.policySet.policies.length; place += 1) {
      const admitted = this.of(target, place) ?? this.remember(target, place, 0)
      if (admitted === undefined) continue
      if ((admitted.seen?.seenUs ?? 0) < seen.nowUs) this.saw(admitted, target, place, seen)
      admitted.isSuspect = true
      suspects.push(admitted)
    }
    return suspects
  }

  /** Notes a decision made without the store. */
  decided(
    { target, mode, costs }: LayerRequest,
    places: readonly number[],
    { granted, untilUs }: StoreResult,
  ): void {
    const { takes, givesOnly } = traitsOf(mode)
    if (granted === 0 || !(takes || givesOnly)) return
    const sign = givesOnly ? -1 : 1
    for (const place of places) {
      const admitted = this.#admitted.get(this.#idOf(target, place))
      if (admitted === undefined || costs[place] === 0) continue
      admitted.add(target, place, sign * granted * (costs[place] as number))
      admitted.untilUs = untilUs[place]
    }
  }

  /**
   * A late reply shows that the store has counted a request that was decided here meanwhile.
   * @param untilUs until when the units count in the store: the entry may have dropped them
   * @param isEstimate whether policies that hold estimates hold the units, until they expire there;
   *   what was admitted here is spent, so it is counted all the same
   */
  countedLate(
    { target, costs }: LayerRequest,
    times: number,
    untilUs: readonly number[],
    isEstimate: boolean,
  ): void {
    for (let i = 0; i < costs.length; i += 1) {
      const { kernel } = target.policySet.policies[i] as Policy
      if (isEstimate && kernel?.expiryMs !== undefined) continue
      const admitted = this.of(target, i)
      if (admitted === undefined || isOver(untilUs[i], admitted.overUs)) continue
      admitted.add(target, i, -times * (costs[i] as number))
    }
  }

  /** The store has counted these units of an entry: they are reconciled. */
  counted(admitted: Admitted, { target, costs, untilUs }: LayerRequest): void {
    if (!isOver(untilUs?.[0], admitted.overUs)) admitted.add(target, 0, -(costs[0] as number))
    if (!admitted.isUncounted) this.forget(admitted)
  }

  /** As `counted`, for an entry that was given up as not counted. After a reset, the counter has
   *  another entry. */
  reconciledLate(request: LayerRequest): void {
    const admitted = this.of(request.target, 0)
    if (admitted?.target === request.target) this.counted(admitted, request)
  }

  /** Notes a settlement that the store may not have made, where a kernel settles by itself: it is
   *  asked again, as what it would charge is known there alone. */
  owe(request: LayerRequest): void {
    const { target, charged } = request
    for (let place = 0; place < request.costs.length; place += 1) {
      if (!isSettledInStore(request, place)) continue
      const units = charged?.[place] as number
      const admitted = this.of(target, place) ?? this.remember(target, place, units)
      const part = partOfRequest(request, [place])
      admitted?.settlements.set(request, { ...part, deadlineAtMs: undefined, isForStore: true })
    }
  }

  /** A late reply shows that the store has made a settlement. */
  settledLate(request: LayerRequest): void {
    for (let place = 0; place < request.costs.length; place += 1) {
      const admitted = this.of(request.target, place)
      if (admitted?.settlements.delete(request) && !admitted.isOwed) this.forget(admitted)
    }
  }

  /** What must be counted in the store before it is asked about a target. */
  owedBy(target: Target): Admitted[] {
    const owed: Admitted[] = []
    for (let i = 0; i < target.policySet.policies.length; i += 1) {
      const admitted = this.of(target, i)
      if (admitted?.isOwed === true) owed.push(admitted)
    }
    return owed
  }

  /**
   * The chosen entries that are to be counted and are not on their way, in lists whose units differ
   * by less than a factor of two, most units first. One list of all takes 30 ms to build from
   * 100,000 keys.
   * @param pause called after each part of the work
   */
  async due(
    isChosen: (admitted: Admitted) => boolean,
    pause: () => Promise<void>,
  ): Promise<Admitted[][]> {
    const classes: Admitted[][] = []
    let looked = 0
    for (const admitted of this.#admitted.values()) {
      looked += 1
      if (looked % ENTRIES_PER_STEP === 0) await pause()
      if (admitted.waiting !== undefined || !isChosen(admitted)) continue
      admitted.dropExpired(this.nowUs())
      if (!admitted.isOwed) {
        this.forget(admitted)
        continue
      }
      const some = Math.max(0, Math.floor(Math.log2(admitted.units)))
      classes[some] ??= []
      classes[some].push(admitted)
    }
    // Some classes may have no list.
    return classes.filter(() => true).reverse()
  }

  forget(admitted: Admitted): void {
    if (this.#admitted.get(admitted.id) === admitted) this.#admitted.delete(admitted.id)
  }

  /** Forgets all that is yet to be counted for a target, even what is on its way to the store. */
  forgetAll(target: Target): void {
    for (let i = 0; i < target.policySet.policies.length; i += 1) {
      const admitted = this.of(target, i)
      if (admitted === undefined) continue
      admitted.units = 0
      admitted.settlements.clear()
      this.forget(admitted)
    }
  }

  /**
   * Of the next few entries, the first that has expired makes room, or else the one with the fewest
   * units, if the new request asks for at least as many: so made-up keys push out no key that used
   * more. Entries that are on their way to the store, or owe settlements, stay.
   */
  #makeRoom(most: number): void {
    const nowUs = this.nowUs()
    let victim: Admitted | undefined
    let least = most + ROUNDING
    for (let looks = 0; looks < LOOKS && least > 0; looks += 1) {
      this.#looks ??= this.#admitted.values()
      const { value, done } = this.#looks.next()
      if (done) this.#looks = undefined
      if (done || value.waiting !== undefined || value.settlements.size > 0) continue
      const units = (value.untilUs ?? 0) <= nowUs ? 0 : value.units
      if (units >= least) continue
      victim = value
      least = units
    }
    if (victim !== undefined) this.forget(victim)
  }
}

/** Whether a request settles a charge of a policy whose kernel settles by itself. */
export function isSettledInStore({ target, charged }: LayerRequest, place: number): boolean {
  return charged !== undefined && target.policySet.policies[place]?.kernel?.settle !== undefined
}
