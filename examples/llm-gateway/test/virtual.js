// @ts-check
// A gateway's day in seconds: a clock that moves only when all events of an instant have had their
// effects, limiters that tell the clock about their calls, and a model that follows a script.

import { fakeClock } from '@weir/core/testing'

/** @typedef {import('../src/complete.js').Limiter} Limiter */

export function virtualTime() {
  const clock = fakeClock()
  /** @type {Map<number, (() => void)[]>} */
  const due = new Map()
  let nowMs = 0
  let calls = 0

  /** @param {number} ms @param {() => void} run */
  function at(ms, run) {
    const there = due.get(ms)
    if (there === undefined) due.set(ms, [run])
    else there.push(run)
  }

  return {
    clock,
    at,
    nowMs: () => nowMs,
    /** Rejects with the signal's reason. @param {number} ms @param {AbortSignal} signal */
    sleep(ms, signal) {
      return /** @type {Promise<void>} */ (
        new Promise((resolve, reject) => {
          at(nowMs + ms, resolve)
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
          if (signal.aborted) reject(signal.reason)
        })
      )
    },
    /** The same limiter, whose calls hold the clock. @param {Limiter} limiter */
    watched(limiter) {
      /** @template T @param {Promise<T>} call */
      const held = async (call) => {
        calls += 1
        try {
          return await call
        } finally {
          calls -= 1
        }
      }
      /** @type {Limiter} */
      const watching = {
        async acquire(...asked) {
          const acquired = await held(limiter.acquire(...asked))
          return { ...acquired, release: () => held(acquired.release()) }
        },
        settle: (...asked) => held(limiter.settle(...asked)),
      }
      return watching
    },
    /** Runs all events up to an instant, and calls `check` after each instant that had events.
     *  @param {number} untilMs @param {() => unknown} check */
    async run(untilMs, check) {
      for (;;) {
        const next = Math.min(untilMs, ...due.keys())
        clock.advance(next - nowMs)
        nowMs = next
        const runs = due.get(next)
        if (runs === undefined) return
        due.delete(next)
        for (const run of runs) run()
        do await new Promise((resolve) => setImmediate(resolve))
        while (calls > 0)
        await check()
      }
    },
  }
}

/** Numbers from 0 to 1, the same in each run. @param {number} seed */
export function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
