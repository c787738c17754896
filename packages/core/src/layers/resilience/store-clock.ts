import type { Clock } from '../../base/clock.js'
import type { Time } from '../../base/time.js'

const OFTEN_US = 1_000_000

export interface StoreClock extends Clock {
  /** The store has said its time just now. */
  noted(nowUs: number): void
}

/** The store's time as this process knows it: its own clock, corrected by what the store says. */
export function storeClock(time: Time): StoreClock {
  let aheadUs = time.nowUs() - time.nowMs() * 1_000
  let notedUs = 0
  return {
    nowUs: () => Math.floor(time.nowMs() * 1_000 + aheadUs),
    noted(nowUs) {
      // Once a second is enough: clocks run alike.
      if (Math.abs(nowUs - notedUs) < OFTEN_US) return
      notedUs = nowUs
      aheadUs = nowUs - time.nowMs() * 1_000
    },
  }
}
