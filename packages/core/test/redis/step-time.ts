// Time that passes in steps, over a real Redis that has answered everything before each step. So
// nothing is late but what a test holds back, however busy the machine is, and seconds take ms.

import { processTime, type Time } from '../../src/base/time.js'

export interface StepTime extends Time {
  /** Lets this many ms pass. */
  pass(ms: number): Promise<void>
  /** Lets time pass until this holds, for at most a minute. */
  until(what: string, holds: () => boolean | Promise<boolean>): Promise<void>
  /** Lets time pass until the promise is settled. */
  settle<Value>(promise: Promise<Value>): Promise<Value>
}

const MOST_MS = 60_000

/** @param answered resolves when Redis has answered everything that it was asked */
export function stepTime(answered: () => Promise<unknown>, stepMs = 10): StepTime {
  let nowMs = 0
  let timers: readonly { readonly atMs: number; readonly action: () => void }[] = []

  async function step(): Promise<void> {
    await answered()
    await new Promise(setImmediate)
    nowMs += stepMs
    const due = timers.filter(({ atMs }) => atMs <= nowMs)
    for (const timer of [...due].sort((one, other) => one.atMs - other.atMs)) {
      // Another one may have cancelled it.
      if (!timers.includes(timer)) continue
      timers = timers.filter((each) => each !== timer)
      timer.action()
    }
    await new Promise(setImmediate)
  }

  async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = nowMs + MOST_MS
    while (!(await holds())) {
      if (nowMs >= endMs) throw new Error(`not within ${MOST_MS} ms: ${what}`)
      await step()
    }
  }

  return {
    ...processTime,
    nowMs: () => nowMs,
    after(ms, action) {
      const timer = { atMs: nowMs + Math.max(1, ms), action }
      timers = [...timers, timer]
      return () => {
        timers = timers.filter((each) => each !== timer)
      }
    },
    async pass(ms) {
      for (const endMs = nowMs + ms; nowMs < endMs; ) await step()
    },
    until,
    async settle(promise) {
      let isSettled = false
      const note = () => {
        isSettled = true
      }
      promise.then(note, note)
      await until('the promise is settled', () => isSettled)
      return promise
    },
  }
}
