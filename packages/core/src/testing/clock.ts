import type { Clock } from '../base/clock.js'
import { type Duration, durationMs } from '../base/duration.js'

/** A clock that moves only when a test moves it. */
export interface FakeClock extends Clock {
  /** Moves the clock on; a negative number of ms steps back. Fractions of a ms are kept to the
   *  microsecond. */
  advance(duration: Duration): void
  /** Jumps to an instant, in ms since the Unix epoch. */
  set(ms: number): void
}

/**
 * A clock that stands still at `startMs`, by default 2026-01-01T00:00:00Z.
 * @example
 * const clock = fakeClock()
 * const store = memoryStore({ clock })
 * clock.advance('1m')
 */
export function fakeClock(startMs: number = Date.UTC(2026, 0, 1)): FakeClock {
  let us = startMs * 1_000
  return {
    nowUs: () => us,
    advance(duration) {
      us += Math.round((typeof duration === 'number' ? duration : durationMs(duration)) * 1_000)
    },
    set(ms) {
      us = Math.round(ms * 1_000)
    },
  }
}
