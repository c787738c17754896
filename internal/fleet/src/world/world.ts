// The world of a fleet: its time, its random numbers, and its history.

import { Events, type Random, randomOf } from '@weir/testkit/virtual-time'
import { History } from './history.js'

/** When every world begins: 2026-03-01T00:00:00Z. */
const START_US = Date.UTC(2026, 2, 1) * 1_000

export class World extends Events {
  readonly random: Random
  readonly history: History = new History()

  constructor(seed: number) {
    super(START_US)
    this.random = randomOf(seed)
  }

  /** The time since the world began. */
  get livedUs(): number {
    return this.nowUs - START_US
  }
}
