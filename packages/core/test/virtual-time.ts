// Time that passes only when a test says so. Nothing in it is of the process: not the clock, not a
// timer, not the end of a turn, not chance. So a test of seconds takes none, and runs the same
// twice.

import type { Time } from '../src/base/time.js'

export interface VirtualTime extends Time {
  /** Lets so many ms pass: calls what is due in the order in which it is. */
  advance(ms: number): Promise<void>
  /** The event loop is held up: time passes, and nothing is called. */
  block(ms: number): void
  /** Lets time pass until the promise is settled. */
  settle<Value>(promise: PromiseLike<Value>): Promise<Value>
  /** Timers that have not ended. */
  readonly timers: number
}

interface Timer {
  readonly dueMs: number
  readonly action: () => void
}

/** Longer than any promise under test takes. */
const LONGEST_MS = 600_000

/** An event loop in small: in each turn first timers, then what was to be called soon. */
export function virtualTime(seed: number = 1, startMs: number = Date.UTC(2026, 0, 1)): VirtualTime {
  let nowMs = 0
  let soon: (() => void)[] = []
  /** The earliest first; of several of one instant the one that was set first. */
  const timers: Timer[] = []

  function set(timer: Timer): void {
    let at = timers.length
    while (at > 0 && (timers[at - 1] as Timer).dueMs > timer.dueMs) at -= 1
    timers.splice(at, 0, timer)
  }

  async function call(action: () => void): Promise<void> {
    action()
    await promisesAreSettled()
  }

  async function turn(): Promise<void> {
    while (timers[0] !== undefined && timers[0].dueMs <= nowMs) {
      await call((timers.shift() as Timer).action)
    }
    const actions = soon
    soon = []
    for (const action of actions) await call(action)
  }

  async function runUntil(endMs: number, isOver: () => boolean): Promise<void> {
    await promisesAreSettled()
    while (!isOver()) {
      const dueMs = timers[0]?.dueMs ?? Number.POSITIVE_INFINITY
      if (soon.length === 0) {
        if (dueMs > endMs) return
        nowMs = Math.max(nowMs, dueMs)
      }
      await turn()
    }
  }

  return {
    nowMs: () => nowMs,
    nowUs: () => startMs * 1_000 + Math.floor(nowMs * 1_000),
    random: randomFrom(seed),
    soon(action) {
      soon.push(action)
    },
    after(ms, action) {
      // Node would take 1 ms instead.
      if (!(ms < 2 ** 31)) throw new RangeError(`a timer of ${ms} ms`)
      const timer = { dueMs: nowMs + Math.max(1, ms), action }
      set(timer)
      return () => {
        const at = timers.indexOf(timer)
        if (at >= 0) timers.splice(at, 1)
      }
    },
    async advance(ms) {
      const endMs = nowMs + ms
      await runUntil(endMs, () => false)
      nowMs = Math.max(nowMs, endMs)
    },
    block(ms) {
      nowMs += ms
    },
    async settle(promise) {
      let isSettled = false
      const note = (): void => {
        isSettled = true
      }
      promise.then(note, note)
      await runUntil(nowMs + LONGEST_MS, () => isSettled)
      if (!isSettled) throw new Error('nothing is left that could settle the promise')
      return promise
    },
    get timers() {
      return timers.length
    },
  }
}

/** Ticks are called once no promise has anything left to do. */
function promisesAreSettled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

/** Numbers from 0 to 1, the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
