// Gives back the memory of keys that nobody asks for any more: one timer for a whole store, in slices, only while there
// are keys, and never the reason why a process stays alive.

import type { Clock } from '../clock.js'
import type { MemoryTable } from './memory-table.js'

const EVERY_MS = 1_000
/** Slots looked at in one go: a few milliseconds at the worst. */
const SLICE = 20_000

/** A sweeper of these tables. `start` may be called as often as one likes. */
export function sweeper(
  tables: ReadonlyMap<string, MemoryTable>,
  clock: Clock,
): { start(): void; stop(): void } {
  let timer: ReturnType<typeof setInterval> | undefined

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function sweep(): void {
    const nowMs = clock.nowUs() / 1_000
    let keys = 0
    for (const table of tables.values()) {
      table.sweep(nowMs, SLICE)
      keys += table.size
    }
    if (keys === 0) stop()
  }

  return {
    start() {
      if (timer !== undefined) return
      timer = setInterval(sweep, EVERY_MS)
      ;(timer as { unref?(): void }).unref?.()
    },
    stop,
  }
}
