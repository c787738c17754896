// Time that passes only when a test says so, for one process. It uses nothing of the process that
// tests: not its clock, timers, turns of the event loop or random numbers. So a test of seconds
// takes no time, and runs the same each time.

import { Events, randomOf, timersOn } from '@weir/testkit/virtual-time'
import type { Time } from '../src/base/time.js'

export interface VirtualTime extends Time {
  /** Lets this many ms pass: runs what is due, in order. */
  advance(ms: number): Promise<void>
  /** Blocks the event loop: time passes, and nothing runs. */
  block(ms: number): void
  /** Lets time pass until the promise is settled. */
  settle<Value>(promise: PromiseLike<Value>): Promise<Value>
  /** Timers that have not ended. */
  readonly timers: number
}

/** Longer than any promise under test takes. */
const LONGEST_US = 600_000_000

export function virtualTime(seed: number = 1, startMs: number = Date.UTC(2026, 0, 1)): VirtualTime {
  const startUs = startMs * 1_000
  const events = new Events(startUs)
  const timers = timersOn((us, action) => events.after(us, action))
  return {
    nowMs: () => (events.nowUs - startUs) / 1_000,
    nowUs: () => events.nowUs,
    random: randomFrom(seed),
    soon(action) {
      const askedUs = events.nowUs
      // After the event loop was blocked, timers come first.
      const attempt = (): void => {
        if (events.nowUs > askedUs) events.after(0, action)
        else action()
      }
      events.after(0, attempt)
    },
    after: timers.after,
    advance: (ms) => events.runFor(Math.round(ms * 1_000)),
    block(ms) {
      events.nowUs += Math.round(ms * 1_000)
    },
    async settle(promise) {
      let isSettled = false
      const note = (): void => {
        isSettled = true
      }
      promise.then(note, note)
      await events.runUntil(events.nowUs + LONGEST_US, () => isSettled)
      if (!isSettled) throw new Error('nothing is left that could settle the promise')
      return promise
    },
    get timers() {
      return timers.count
    },
  }
}

/** Numbers from 0 to 1, the same for the same seed. */
export function randomFrom(seed: number): () => number {
  return randomOf(seed).next
}
