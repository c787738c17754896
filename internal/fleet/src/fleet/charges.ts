// The recent charges of a process, which it may refund or settle.

import type { Random } from '@weir/testkit/virtual-time'
import type { Decision } from '../../../../packages/core/src/index.js'

/** The units of each policy of a decision. */
export type Units = readonly number[]

export interface Charge {
  readonly key: string
  readonly decision: Decision
  readonly units: Units
  /** How often each of its counters had been reset before the decision was answered. */
  readonly resets: readonly number[]
  /** It was refunded or settled, so nothing more can happen to it. */
  isSpent: boolean
}

const REMEMBERED = 12

export class Charges {
  readonly #all: Charge[] = []

  add(charge: Omit<Charge, 'isSpent'>): void {
    this.#all.push({ ...charge, isSpent: false })
    if (this.#all.length > REMEMBERED) this.#all.shift()
  }

  /** Returns a recent charge, preferably one that is not spent. */
  pick(random: Random): Charge | undefined {
    const fresh = this.#all.filter(({ isSpent }) => !isSpent)
    const some = fresh.length > 0 && random.chance(0.8) ? fresh : this.#all
    return some.length === 0 ? undefined : random.pick(some)
  }
}
