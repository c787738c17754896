// What was admitted without the store, and is yet to be counted in it.

import { memoized } from '../../base/cache.js'
import type { Clock } from '../../base/clock.js'
import { idOf } from '../../base/key-text.js'
import type { PolicySet, StoreResult, Target } from '../../store.js'
import type { LayerRequest } from '../layer.js'
import { type Seen, textOfSet } from './last-seen.js'

/** Keys that are remembered to be counted in the store, at the most. */
const MAX_KEYS = 10_000
const OFTEN_US = 1_000_000

/** What was admitted locally under a key. */
export interface Admitted {
  readonly id: string
  readonly target: Target
  readonly units: number[]
  /** What was last seen of it in the store, before. */
  seen: Seen | undefined
  untilUs: readonly number[]
  /** Until when those counted that no longer do. */
  readonly overUs: number[]
  /** A request to count it in the store is under way. */
  isOnItsWay: boolean
}

export class Ledger {
  readonly #admitted: Map<string, Admitted> = new Map()
  readonly #textOf: (policySet: PolicySet) => string = memoized(textOfSet)
  /** The store's time as this process knows it. */
  readonly #clock: Clock
  #lookedUs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get keys(): number {
    return this.#admitted.size
  }

  /** What was admitted under a target and still counts. */
  of(target: Target): Admitted | undefined {
    const admitted = this.#admitted.get(this.#idOf(target))
    if (admitted !== undefined) this.#dropExpired(admitted)
    return admitted
  }

  /** A place for what is admitted under a key; undefined: there are too many, and it is not
   *  counted. */
  remember(target: Target, seen: Seen | undefined): Admitted | undefined {
    if (this.keys >= MAX_KEYS) this.#forgetExpired()
    if (this.keys >= MAX_KEYS) return undefined
    const id = this.#idOf(target)
    const units = target.policySet.policies.map(() => 0)
    const overUs = units.map(() => 0)
    const admitted = { id, target, units, seen, untilUs: [], overUs, isOnItsWay: false }
    this.#admitted.set(id, admitted)
    return admitted
  }

  /** This was decided without the store. */
  decided(
    admitted: Admitted,
    { mode, costs }: LayerRequest,
    places: readonly number[],
    { granted, untilUs }: StoreResult,
  ): void {
    if (granted === 0 || mode === 'peek') return
    const counting = costs.map((cost, i) => (places.includes(i) ? cost : 0))
    const isGiven = mode === 'refund' || mode === 'cancel'
    take(admitted.units, counting, isGiven ? granted : -granted)
    admitted.untilUs = untilUs
  }

  /**
   * The store has counted this: what was admitted here, or what was then decided here.
   * @param times below 0: the store had given back that many
   * @param untilUs until when it counts there: it may be of units whose window is over
   */
  counted({ target, costs }: LayerRequest, times: number, untilUs?: readonly number[]): void {
    const admitted = this.of(target)
    if (admitted === undefined) return
    const counting = costs.map((cost, i) => {
      return isOver(untilUs?.[i], admitted.overUs[i] as number) ? 0 : cost
    })
    take(admitted.units, counting, times)
    if (mostOf(admitted) === 0) this.giveUp(admitted)
  }

  /** What is to be counted of the targets chosen and is not on its way, most units first. */
  due(isChosen: (admitted: Admitted) => boolean): Admitted[] {
    const some: Admitted[] = []
    for (const each of this.#admitted.values()) {
      if (each.isOnItsWay || !isChosen(each)) continue
      if (mostOf(each) > 0) some.push(each)
      else this.giveUp(each)
    }
    return some.sort((one, other) => mostOf(other) - mostOf(one))
  }

  giveUp({ id }: Admitted): void {
    this.#admitted.delete(id)
  }

  forget(target: Target): void {
    this.#admitted.delete(this.#idOf(target))
  }

  clear(): void {
    this.#admitted.clear()
  }

  #idOf(target: Target): string {
    return `${this.#textOf(target.policySet)} ${idOf(target)}`
  }

  /** Units that no longer count are not counted with those of the next window. */
  #dropExpired({ units, untilUs, overUs }: Admitted): void {
    let nowUs = 0
    try {
      nowUs = this.#clock.nowUs()
    } catch {
      // A clock of a user's that went wrong: nothing is known to be over.
    }
    for (let i = 0; i < untilUs.length; i += 1) {
      if (!isOver(untilUs[i], nowUs)) continue
      units[i] = 0
      overUs[i] = untilUs[i] as number
    }
  }

  /** What is over need not be counted. Looked through once a second at the most. */
  #forgetExpired(): void {
    const nowUs = this.#clock.nowUs()
    if (nowUs < this.#lookedUs + OFTEN_US) return
    this.#lookedUs = nowUs
    for (const each of this.#admitted.values()) {
      if (each.untilUs.every((untilUs) => untilUs <= nowUs)) this.giveUp(each)
    }
  }
}

function isOver(untilUs: number | undefined, nowUs: number): boolean {
  return untilUs !== undefined && Math.floor(untilUs / 1_000) <= Math.floor(nowUs / 1_000)
}

function mostOf({ units }: Admitted): number {
  return Math.max(...units)
}

/** Takes `times` the costs from the units, as far as there are any. */
function take(units: number[], costs: readonly number[], times: number): void {
  for (let i = 0; i < costs.length; i += 1) {
    units[i] = Math.max(0, (units[i] as number) - times * (costs[i] as number))
  }
}
