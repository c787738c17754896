// Requests that come whether or not earlier ones were answered, as those of real users do.
import type { Stall } from './protocol.js'
import { now } from './time.js'

const TURN_MS = 5
/** Timers may be late by a few ms on any machine. */
const LATE_MS = 10

export interface Loop {
  /** Begins the load. */
  begin(): void
  stop(): void
}

/**
 * Sends `atOnce` requests at intervals that give the rate, and reports when the event loop was
 * late.
 */
export function openLoop(
  ratePerSecond: number,
  atOnce: number,
  send: () => void,
  onStall: (stall: Stall) => void,
): Loop {
  let begun: number | undefined
  let sent = 0
  let expected = now() + TURN_MS
  let cpu = process.cpuUsage()

  const timer = setInterval(() => {
    const at = now()
    const used = process.cpuUsage(cpu)
    cpu = process.cpuUsage()
    const late = at - expected
    if (late > LATE_MS)
      onStall({ at: expected, ms: late, ownMs: (used.user + used.system) / 1_000 })
    if (begun !== undefined) {
      const due = Math.floor(((at - begun) * ratePerSecond) / 1_000)
      for (; sent + atOnce <= due; sent += atOnce) for (let i = 0; i < atOnce; i += 1) send()
    }
    expected = now() + TURN_MS
  }, TURN_MS)

  return {
    begin() {
      begun ??= now()
    },
    stop() {
      clearInterval(timer)
    },
  }
}
