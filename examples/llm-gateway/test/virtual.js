// @ts-check
// A clock that moves only when all events of an instant have had their effects.

import { fakeClock } from '@weir/core/testing'

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
    /** Rejects with the signal's reason if it aborted meanwhile.
     *  @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        at(nowMs + ms, () => (signal.aborted ? reject(signal.reason) : resolve()))
      }),
    /** A call that holds the clock. @template T @param {Promise<T>} call */
    async held(call) {
      calls += 1
      try {
        return await call
      } finally {
        calls -= 1
      }
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
