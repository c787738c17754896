// A process's time: clocks, timers, the end of a turn of the event loop, random numbers. Layers
// take it as a value, so that a whole store can run in virtual time.

import type { Clock } from './clock.js'

export interface Time extends Clock {
  /** Milliseconds, with a fraction, on a clock that never goes back and has an arbitrary origin. */
  nowMs(): number
  /** Calls `action` once, after `ms`. Returns a function that cancels the call. Only an awaited
   *  call keeps the process alive. */
  after(ms: number, action: () => void, isAwaited?: boolean): () => void
  /** Calls `action` once the event loop has handled what it has received so far. */
  soon(action: () => void): void
  /** From 0 to 1. */
  random(): number
}

/** This process's time. */
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
