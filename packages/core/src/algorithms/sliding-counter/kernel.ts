// Sliding counter: the counts of the running and the previous window; the previous one is weighted
// by the part of its window that a window ending now still covers. The smallest sliding state, and
// an approximation.
//
//   used = current + ceil(previous * (span - elapsed) / span)
//
// Bound: the limit in a window *if* requests are spread evenly; an attacker who knows the grid gets
// just under twice the limit in the worst window (adversary.test.ts measures it). Windows lie on
// the grid of the Unix epoch. Exact while limit * span < 2^53, which the policy checks.
// Waits: with room = limit - cost - current,
//   room >= 0: the previous window must weigh no more than room:
//              elapsed >= span - floor(room * span / previous)
//   room <  0: in the next window, where `current` is the previous one, by the same formula with
//              limit - cost
// With another limit on the same state, the counts stay. The span is part of the key, so all limits
// have one grid.

import { COUNTED, type Kernel } from '../algorithm.js'
import { slidingCounterLua } from '../lua.generated.js'

type CounterScratch = ReturnType<typeof prepare>

function prepare([limit, spanMs]: readonly [limit: number, spanMs: number]) {
  // Counts saturate here, so that count * span stays exact.
  const most = Math.floor(2 ** 53 / spanMs)
  return { limit, spanMs, most, nowMs: 0, startMs: 0, previous: 0, current: 0, dirty: false }
}

export const slidingCounter: Kernel = {
  id: 'counter1',
  lua: slidingCounterLua,
  traits: COUNTED,
  width: 3,
  prepare,

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
        // Folded into the current window: as a previous window, it would weigh less.
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
  },

  used({ spanMs, nowMs, startMs, previous, current }) {
    const elapsed = nowMs > startMs ? nowMs - startMs : 0
    return current + Math.ceil((previous * (spanMs - elapsed)) / spanMs)
  },

  take,

  refund(scratch, units, untilUs) {
    // A charge counts until the end of the window after its own.
    const untilMs = Math.floor(untilUs / 1_000)
    const { startMs, spanMs, current, previous } = scratch
    const fromCurrent = untilMs > startMs + spanMs ? Math.min(units, current) : 0
    const fromPrevious = untilMs > startMs ? Math.min(units - fromCurrent, previous) : 0
    if (fromCurrent + fromPrevious > 0) {
      scratch.current -= fromCurrent
      scratch.previous -= fromPrevious
      scratch.dirty = true
    }
  },

  reconcile(scratch, units, untilUs) {
    const untilMs = Math.floor(untilUs / 1_000)
    if (untilMs > scratch.startMs + scratch.spanMs) {
      take(scratch, units)
    } else if (untilMs > scratch.startMs) {
      scratch.previous = Math.min(scratch.previous + units, scratch.most)
      scratch.dirty = true
    }
  },

  restore(scratch, used, untilUs, base) {
    // The usage was seen in the window that ends one span before `untilUs`, and a part of it may be
    // the weight of the window before. So in the same window both counts together are at least as
    // much, unless they were lost.
    const startMs = Math.floor(untilUs / 1_000) - 2 * scratch.spanMs
    const seen = Math.min(used, scratch.most)
    const known = base ?? scratch.previous + (startMs < scratch.startMs ? 0 : scratch.current)
    if (seen > known) {
      if (startMs === scratch.startMs) take(scratch, seen - known)
      else if (startMs === scratch.startMs - scratch.spanMs) {
        scratch.previous = Math.min(scratch.previous + seen - known, scratch.most)
        scratch.dirty = true
      }
    }
    return Math.max(known, seen)
  },

  retryAfterMs({ limit, spanMs, nowMs, startMs, previous, current }, cost) {
    const room = limit - cost - current
    if (room >= 0) return startMs + spanMs - Math.floor((room * spanMs) / previous) - nowMs
    return startMs + 2 * spanMs - Math.floor(((limit - cost) * spanMs) / current) - nowMs
  },

  resetAfterUs({ spanMs, nowMs, startMs, previous, current }) {
    if (current > 0) return (startMs + 2 * spanMs - nowMs) * 1_000
    return previous > 0 ? (startMs + spanMs - nowMs) * 1_000 : 0
  },

  write(scratch, cells, offset) {
    cells[offset] = scratch.startMs
    cells[offset + 1] = scratch.previous
    cells[offset + 2] = scratch.current
    return cells
  },
} satisfies Kernel<CounterScratch>

function take(scratch: CounterScratch, units: number): void {
  scratch.current = Math.min(scratch.current + units, scratch.most)
  scratch.dirty = true
}
