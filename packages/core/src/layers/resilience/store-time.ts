// The store's time as this process knows it: its own clock, corrected by what the store says.

import type { Clock } from '../../base/clock.js'
import type { Time } from '../../base/time.js'

/** Clocks run alike, so that one correction in this time is enough. */
const OFTEN_US = 1_000_000

export class StoreTime implements Clock {
  readonly #time: Time
  #aheadUs: number
  #notedUs = 0

  constructor(time: Time) {
    this.#time = time
    this.#aheadUs = time.nowUs() - time.nowMs() * 1_000
  }

  nowUs(): number {
    return Math.floor(this.#time.nowMs() * 1_000 + this.#aheadUs)
  }

  /** The store has said its time just now. */
  noted(nowUs: number): void {
    if (Math.abs(nowUs - this.#notedUs) < OFTEN_US) return
    this.#notedUs = nowUs
    this.#aheadUs = nowUs - this.#time.nowMs() * 1_000
  }
}
