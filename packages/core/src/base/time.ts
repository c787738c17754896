// Time of a process: clocks, timers, the end of a turn, chance. Layers take it as a value, so that
// a whole store can run in virtual time.

import type { Clock } from './clock.js'

export interface Time extends Clock {
  /** Milliseconds, with a fraction, on a clock that never goes back. Its origin means nothing. */
  nowMs(): number
  /** Calls back once, after `ms`. Returns what cancels it. Only what is awaited keeps the process
   *  alive. */
  after(ms: number, action: () => void, isAwaited?: boolean): () => void
  /** Calls back when what the event loop has received by now has been handled. */
  soon(action: () => void): void
  /** From 0 to 1. */
  random(): number
}

/** The time of this process. */
export const processTime: Time = {
  nowUs: () => Date.now() * 1_000,
  nowMs: () => performance.now(),
  after(ms, action, isAwaited) {
    const timer = setTimeout(action, Math.max(1, ms))
    if (!isAwaited) (timer as { unref?(): void }).unref?.()
    return () => clearTimeout(timer)
  },
  soon: globalThis.setImmediate ?? ((action: () => void) => setTimeout(action, 0)),
  random: Math.random,
}
