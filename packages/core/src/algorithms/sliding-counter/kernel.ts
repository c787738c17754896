// Sliding counter: the counts of the running and of the previous window, the latter weighted by the
// part of it that a window ending now still covers. The smallest sliding state, and an
// approximation.
//
//   used = current + ceil(previous * (span - elapsed) / span)
//
// Bound: the limit in a window *if* requests are spread evenly; an attacker who knows the grid gets
// just under twice the limit in the worst window (it is measured in docs/algorithms.md). Windows
// lie on the grid of the Unix epoch. Exact while limit * span < 2^53, which the policy checks.
// Waits: with room = limit - cost - current,
//   room >= 0: the previous window must weigh no more than room:
//              elapsed >= span - floor(room * span / previous)
//   room <  0: in the next window, where `current` is the previous one, by the same formula with
//              limit - cost
// Another limit on the same state: the counts stay. The span is part of the key, so all have one
// grid.

import type { Cells, Kernel, Scratch } from '../algorithm.js'
import { slidingCounterLua } from '../lua.generated.js'

interface CounterScratch extends Scratch {
  readonly limit: number
  readonly spanMs: number
  /** Counts saturate here, so that count * span stays exact. */
  readonly most: number
  nowMs: number
  startMs: number
  previous: number
  current: number
}

/** Numbers: limit, span in ms, 0. */
export const slidingCounter: Kernel<CounterScratch> = {
  id: 'counter1',
  lua: slidingCounterLua,
  traits: { drains: false, hasOneEnd: false },
  width: 3,

  prepare: ([limit, spanMs]) => {
    const most = Math.floor(2 ** 53 / spanMs)
    return { limit, spanMs, most, nowMs: 0, startMs: 0, previous: 0, current: 0, dirty: false }
  },

  share: ([, span, detail], limit) => [limit, span, detail],

  read(scratch, cells, offset, nowUs) {
    const { spanMs, most } = scratch
    const nowMs = Math.floor(nowUs / 1_000)
    const running = Math.floor(nowMs / spanMs) * spanMs
    let start = running
    let previous = 0
    let current = 0
    scratch.dirty = false
    if (cells !== undefined) {
      start = cells[offset] as number
      previous = Math.min(cells[offset + 1] as number, most)
      current = Math.min(cells[offset + 2] as number, most)
      if (start < running) {
        previous = start === running - spanMs ? current : 0
        current = 0
        start = running
      } else if (start > running + 2 * spanMs) {
        // Folded into the current window: kept as the previous one, an earlier now would weigh it
        // less.
        current = Math.min(previous + current, most)
        previous = 0
        start = running
        scratch.dirty = true
      }
    }
    scratch.nowMs = nowMs
    scratch.startMs = start
    scratch.previous = previous
    scratch.current = current
    return available(scratch)
  },

  take(scratch, units) {
    const current = scratch.current + units
    scratch.current = current < scratch.most ? current : scratch.most
    scratch.dirty = true
    return available(scratch)
  },

  refund(scratch, units, untilUs) {
    // A charge weighs until the end of the window after its own.
    const untilMs = untilUs === undefined ? undefined : Math.floor(untilUs / 1_000)
    const ofCurrent = untilMs === undefined || untilMs > scratch.startMs + scratch.spanMs
    const ofPrevious = untilMs === undefined || (!ofCurrent && untilMs > scratch.startMs)
    const fromCurrent = ofCurrent ? Math.min(units, scratch.current) : 0
    const fromPrevious = ofPrevious ? Math.min(units - fromCurrent, scratch.previous) : 0
    if (fromCurrent + fromPrevious > 0) {
      scratch.current -= fromCurrent
      scratch.previous -= fromPrevious
      scratch.dirty = true
    }
    return available(scratch)
  },

  reconcile(scratch, units, untilUs) {
    const untilMs = Math.floor(untilUs / 1_000)
    if (untilMs > scratch.startMs + scratch.spanMs) return slidingCounter.take(scratch, units)
    if (untilMs > scratch.startMs) {
      scratch.previous = Math.min(scratch.previous + units, scratch.most)
      scratch.dirty = true
    }
    return available(scratch)
  },

  restore(scratch, used, untilUs) {
    // It was seen in the window that ends one span before `untilUs`, and a part of it may be the
    // weight of the window before that. So in the same window both counts together are at least as
    // much, unless they were lost; and in the next one, where the older count is gone, a window
    // that has a count at all is taken to be intact.
    const startMs = Math.floor(untilUs / 1_000) - 2 * scratch.spanMs
    const seen = Math.min(used, scratch.most)
    const counted = scratch.current + scratch.previous
    if (startMs === scratch.startMs && seen > counted) {
      scratch.current += seen - counted
      scratch.dirty = true
    } else if (startMs === scratch.startMs - scratch.spanMs && scratch.previous === 0) {
      scratch.previous = seen
      scratch.dirty = true
    }
    return available(scratch)
  },

  retryAfterMs({ limit, spanMs, nowMs, startMs, previous, current }, cost) {
    if (cost > limit) return -1
    const room = limit - cost - current
    if (room < 0)
      return startMs + 2 * spanMs - Math.floor(((limit - cost) * spanMs) / current) - nowMs
    if (previous <= room) return 0
    const wait = startMs + spanMs - Math.floor((room * spanMs) / previous) - nowMs
    return wait > 0 ? wait : 0
  },

  resetAfterUs({ spanMs, nowMs, startMs, previous, current }) {
    if (current > 0) return (startMs + 2 * spanMs - nowMs) * 1_000
    return previous > 0 ? (startMs + spanMs - nowMs) * 1_000 : 0
  },

  write(scratch, cells: Cells, offset) {
    cells[offset] = scratch.startMs
    cells[offset + 1] = scratch.previous
    cells[offset + 2] = scratch.current
    return cells
  },
}

function available({ limit, spanMs, nowMs, startMs, previous, current }: CounterScratch): number {
  const elapsed = nowMs > startMs ? nowMs - startMs : 0
  const used = current + Math.ceil((previous * (spanMs - elapsed)) / spanMs)
  return used < limit ? limit - used : 0
}
