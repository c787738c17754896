// The store's time as this process knows it: its own clock, corrected by what the store says.

import type { Clock } from '../../base/clock.js'
import type { Time } from '../../base/time.js'

/** At most one correction is made in this time, as clocks run alike. */
const OFTEN_US = 1_000_000

export interface StoreTime extends Clock {
  /** The store has just reported its time. */
  noted(nowUs: number): void
}

export function storeTimeIn(time: Time): StoreTime {
  let aheadUs = time.nowUs() - time.nowMs() * 1_000
  let notedUs = 0
  return {
    nowUs: () => Math.floor(time.nowMs() * 1_000 + aheadUs),
    noted(nowUs) {
      if (Math.abs(nowUs - notedUs) < OFTEN_US) return
      notedUs = nowUs
      aheadUs = nowUs - time.nowMs() * 1_000
    },
  }
}
