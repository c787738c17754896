// A time that passes when a test says so.

import type { Time } from '../src/time.js'

export interface FakeTime extends Time {
  /** Lets time pass; timers fire in order. */
  pass(ms: number): void
  /** The number of active timers. */
  readonly timers: number
  /** The number of those that repeat. */
  readonly repeating: number
}

const START_MS = 1_800_000_000_000

export function fakeTime(): FakeTime {
  let passedMs = 0
  let timers: {
    atMs: number
    readonly everyMs: number | undefined
    readonly action: () => void
  }[] = []

  function set(ms: number, everyMs: number | undefined, action: () => void): () => void {
    const timer = { atMs: passedMs + ms, everyMs, action }
    timers.push(timer)
    return () => {
      timers = timers.filter((each) => each !== timer)
    }
  }

  return {
    nowMs: () => START_MS + passedMs,
    steadyMs: () => passedMs,
    after: (ms, action) => set(ms, undefined, action),
    every: (ms, action) => set(ms, ms, action),
    get timers() {
      return timers.length
    },
    get repeating() {
      return timers.filter(({ everyMs }) => everyMs !== undefined).length
    },
    pass(ms) {
      const endMs = passedMs + ms
      for (;;) {
        const next = timers
          .filter(({ atMs }) => atMs <= endMs)
          .sort((one, two) => one.atMs - two.atMs)[0]
        if (next === undefined) break
        passedMs = next.atMs
        if (next.everyMs === undefined) timers = timers.filter((each) => each !== next)
        else next.atMs += next.everyMs
        next.action()
      }
      passedMs = endMs
    },
  }
}

/** What `vi.useFakeTimers` replaces for what has the process's time, such as live policies. */
export const TIMERS: FakeTimer[] = [
  'Date',
  'performance',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
]

type FakeTimer = 'Date' | 'performance' | `${'set' | 'clear'}${'Timeout' | 'Interval'}`
