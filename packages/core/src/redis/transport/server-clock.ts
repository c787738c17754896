import type { Clock } from '../../base/clock.js'

/** The server's time as this process knows it: its own clock, put right by the replies. */
export function serverClock(): Clock & { noted(nowUs: number): void } {
  let aheadUs = Date.now() * 1_000 - performance.now() * 1_000
  return {
    nowUs: () => Math.floor(performance.now() * 1_000 + aheadUs),
    noted(nowUs) {
      aheadUs = nowUs - performance.now() * 1_000
    },
  }
}
