// What a process was charged lately, and may give back.

import type { Random } from '@weir/testkit/virtual-time'
import type { Decision } from '../../../../packages/core/src/index.js'

/** Of each policy of a decision. */
export type Units = readonly number[]

export interface Charge {
  readonly key: string
  readonly decision: Decision
  readonly units: Units
  /** How often each of its counters had been reset before it was answered. */
  readonly resets: readonly number[]
  /** It was given back or settled, and nothing can happen to it any more. */
  isSpent: boolean
}

const REMEMBERED = 12

export class Charges {
  readonly #all: Charge[] = []

  add(charge: Omit<Charge, 'isSpent'>): void {
    this.#all.push({ ...charge, isSpent: false })
    if (this.#all.length > REMEMBERED) this.#all.shift()
  }

  /** One of the last: rather one that is not spent yet. */
  pick(random: Random): Charge | undefined {
    const fresh = this.#all.filter(({ isSpent }) => !isSpent)
    const some = fresh.length > 0 && random.chance(0.8) ? fresh : this.#all
    return some.length === 0 ? undefined : random.pick(some)
  }
}
