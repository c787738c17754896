// What was admitted without the store, and is yet to be counted in it: by counter, so that every
// request that reads a counter finds what is missing there, whichever key or limit it comes by.

import { traitsOf } from '../../algorithms/modes.js'
import type { Clock } from '../../base/clock.js'
import type { LayerRequest } from '../../layer.js'
import { partOfTarget } from '../../request.js'
import type { StoreResult, Target } from '../../store.js'
import { Admitted, isOver, ROUNDING } from './admitted.js'
import { counterIds } from './counter-ids.js'
import type { Seen } from './last-seen.js'
import { restoring } from './restoring.js'

/** How many entries of a full table are looked at where one must make room. */
const LOOKS = 8
/** Entries that are looked at in one step, where all are. */
const PART = 2_000

export class Ledger {
  readonly #admitted: Map<string, Admitted> = new Map()
  readonly #idOf: (target: Target, place: number) => string = counterIds()
  /** The store's time as this process knows it. */
  readonly #clock: Clock
  readonly #maxKeys: number
  /** Where the look for an entry that makes room has come to. */
  #looks: IterableIterator<Admitted> | undefined

  /** @param maxKeys counters that are remembered, at the most */
  constructor(clock: Clock, maxKeys: number) {
    this.#clock = clock
    this.#maxKeys = maxKeys
  }

  get keys(): number {
    return this.#admitted.size
  }

  /** The store's time as this process knows it; 0 where a clock of a user's went wrong, and nothing
   *  is known to be over. */
  nowUs(): number {
    try {
      return this.#clock.nowUs()
    } catch {
      return 0
    }
  }

  /** What was admitted under the counter of a policy of a target, and still counts. */
  of(target: Target, place: number): Admitted | undefined {
    const admitted = this.#admitted.get(this.#idOf(target, place))
    if (admitted !== undefined) admitted.dropExpired(this.nowUs())
    return admitted
  }

  /**
   * A place for what is admitted under a counter; undefined: there is none, and it is not counted.
   * @param units that a request asks for
   */
  remember(target: Target, place: number, units: number): Admitted | undefined {
    if (this.keys >= this.#maxKeys) this.#makeRoom(units)
    if (this.keys >= this.#maxKeys) return undefined
    const id = this.#idOf(target, place)
    const admitted = new Admitted(id, partOfTarget(target, [place]))
    this.#admitted.set(id, admitted)
    return admitted
  }

  /** The fallback has begun with this. */
  saw(admitted: Admitted, target: Target, place: number, seen: Seen): void {
    const remaining = [seen.remaining[place] as number]
    const untilUs = [seen.untilUs[place] as number]
    const own = { nowUs: seen.nowUs, remaining, untilUs, blocks: [seen.blocks?.[place]] }
    admitted.seen = restoring(partOfTarget(target, [place]), own)
  }

  /** This was decided without the store. */
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
   * The store has counted after all what was then decided here.
   * @param untilUs until when it counts there: it may be of units whose window is over
   */
  countedLate({ target, costs }: LayerRequest, times: number, untilUs: readonly number[]): void {
    for (let i = 0; i < costs.length; i += 1) {
      const admitted = this.of(target, i)
      if (admitted === undefined || isOver(untilUs[i], admitted.overUs)) continue
      admitted.add(target, i, -times * (costs[i] as number))
    }
  }

  /** The store has counted this of an entry: it was reconciled. */
  counted(admitted: Admitted, { target, costs, untilUs }: LayerRequest): void {
    if (!isOver(untilUs?.[0], admitted.overUs)) admitted.add(target, 0, -(costs[0] as number))
    if (admitted.units < ROUNDING) this.forget(admitted)
  }

  /** The same, of an entry that was given up as not counted. After a reset it is another one. */
  reconciledLate(request: LayerRequest): void {
    const admitted = this.of(request.target, 0)
    if (admitted?.target === request.target) this.counted(admitted, request)
  }

  /** What must be counted in the store before a request of a target is asked. */
  owedBy(target: Target): Admitted[] {
    const owed: Admitted[] = []
    for (let i = 0; i < target.policySet.policies.length; i += 1) {
      const admitted = this.of(target, i)
      if (admitted?.isOwed === true) owed.push(admitted)
    }
    return owed
  }

  /**
   * What is to be counted of the targets chosen and is not on its way: lists whose units differ by
   * less than a factor of two, the most units first. One list of all takes 30 ms to build from
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
      if (looked % PART === 0) await pause()
      if (admitted.waiting !== undefined || !isChosen(admitted)) continue
      admitted.dropExpired(this.nowUs())
      if (admitted.units < ROUNDING) {
        this.forget(admitted)
        continue
      }
      const some = Math.max(0, Math.floor(Math.log2(admitted.units)))
      classes[some] ??= []
      classes[some].push(admitted)
    }
    // There may be none of some.
    return classes.filter(() => true).reverse()
  }

  forget(admitted: Admitted): void {
    if (this.#admitted.get(admitted.id) === admitted) this.#admitted.delete(admitted.id)
  }

  /** Nothing of a target is to be counted any more, nor what is about to be. */
  forgetAll(target: Target): void {
    for (let i = 0; i < target.policySet.policies.length; i += 1) {
      const admitted = this.of(target, i)
      if (admitted === undefined) continue
      admitted.units = 0
      this.forget(admitted)
    }
  }

  /**
   * Of the next few entries the first that is over makes room, else the one with the fewest units,
   * if the newcomer asks for as many: so keys that are made up push out none that used more. What
   * is on its way stays.
   */
  #makeRoom(most: number): void {
    const nowUs = this.nowUs()
    let victim: Admitted | undefined
    let least = most + ROUNDING
    for (let looks = 0; looks < LOOKS && least > 0; looks += 1) {
      this.#looks ??= this.#admitted.values()
      const { value, done } = this.#looks.next()
      if (done) this.#looks = undefined
      if (done || value.waiting !== undefined) continue
      const units = (value.untilUs ?? 0) <= nowUs ? 0 : value.units
      if (units >= least) continue
      victim = value
      least = units
    }
    if (victim !== undefined) this.forget(victim)
  }
}
