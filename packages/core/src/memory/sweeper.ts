// Frees the memory of keys that nobody asks for any more. One timer for a whole store works in
// slices, runs only while there are keys, and never keeps the process alive.

import type { Clock } from '../base/clock.js'
import type { Time } from '../base/time.js'
import type { KeyMarks } from './marks.js'
import type { MemoryTable } from './table.js'

const EVERY_MS = 1_000
/**
 * Until every key was looked at, and while a slice has dropped as many keys as it may, the next one
 * follows this soon: other work has its turn in between.
 */
const SOON_MS = 5
/** The most keys that a slice looks at, and drops: it takes a millisecond, or a few before the code
 *  is compiled. */
const LOOKS = 10_000
const DROPS = 1_000

/**
 * A sweeper for these tables. `start` may be called again at any time.
 * @param tablesDropped called after empty tables were dropped
 * @param marks swept with the tables, but no reason to go on
 */
export function sweeper(
  tables: Map<string, MemoryTable>,
  clock: Clock,
  time: Time,
  tablesDropped: () => void,
  marks?: KeyMarks,
): { start(): void; stop(): void } {
  let cancel: (() => void) | undefined
  /** How many keys and tables are to be looked at before it rests. */
  let unseen = 0

  function slice(): void {
    cancel = undefined
    let nowMs = Number.NEGATIVE_INFINITY
    try {
      nowMs = clock.nowUs() / 1_000
    } catch {
      // The user's clock failed. Decisions report that; here no key is taken to be over.
    }
    marks?.states.sweep(nowMs, DROPS, DROPS)
    let looks = LOOKS
    let drops = DROPS
    const before = tables.size
    let left = before
    if (unseen <= 0) for (const { states } of tables.values()) unseen += states.count + 1
    for (const [id, table] of tables) {
      if (left === 0 || looks <= 0 || drops <= 0) break
      left -= 1
      const some = Math.min(looks, table.states.count)
      drops -= table.states.sweep(nowMs, some, drops)
      looks -= some + 1
      // Moved behind the tables that this slice does not come to: the next slice begins with those.
      tables.delete(id)
      if (table.states.count > 0) tables.set(id, table)
    }
    unseen -= LOOKS - looks
    if (tables.size < before) tablesDropped()
    if (tables.size > 0) later(drops > 0 && unseen <= 0 ? EVERY_MS : SOON_MS)
  }

  function later(ms: number): void {
    cancel = time.after(ms, slice)
  }

  return {
    start() {
      if (cancel === undefined) later(EVERY_MS)
    },
    stop() {
      cancel?.()
      cancel = undefined
    },
  }
}
