// Sliding counter: the counts of the running and of the previous window, the latter weighted by the part of it that a
// window ending now still covers. The smallest sliding state, and an approximation.
//
//   used = current + ceil(previous * (span - elapsed) / span)
//
// Bound: the limit in a window *if* requests are spread evenly; an attacker who knows the grid gets just under twice
// the limit in the worst window (it is measured in docs/algorithms.md). Windows lie on the grid of the Unix epoch.
// Exact while limit * span < 2^53, which the policy checks. Waits: with room = limit - cost - current,
//   room >= 0: the previous window must weigh no more than room: elapsed >= span - floor(room * span / previous)
//   room <  0: in the next window, where `current` is the previous one, by the same formula with limit - cost
// Another limit on the same state: the counts stay. The span is part of the key, so all have one grid.

import type { Cells, Check, Kernel } from '../algorithm.js'
import { slidingCounterLua } from '../lua.generated.js'

interface CounterCheck extends Check {
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
export const slidingCounter: Kernel<CounterCheck> = {
  id: 'counter1',
  lua: slidingCounterLua,
  width: 3,

  check: ([limit, spanMs]) => {
    const most = Math.floor(2 ** 53 / spanMs)
    return { limit, spanMs, most, nowMs: 0, startMs: 0, previous: 0, current: 0, dirty: false }
  },

  share: ([, span, detail], limit) => [limit, span, detail],

  read(check, cells, offset, nowUs) {
    const { spanMs, most } = check
    const nowMs = Math.floor(nowUs / 1_000)
    const running = Math.floor(nowMs / spanMs) * spanMs
    let start = running
    let previous = 0
    let current = 0
    check.dirty = false
    if (cells !== undefined) {
      start = cells[offset] as number
      previous = Math.min(cells[offset + 1] as number, most)
      current = Math.min(cells[offset + 2] as number, most)
      if (start < running) {
        previous = start === running - spanMs ? current : 0
        current = 0
        start = running
      } else if (start > running + 2 * spanMs) {
        // Folded into the current window: kept as the previous one, an earlier now would weigh it less.
        current = Math.min(previous + current, most)
        previous = 0
        start = running
        check.dirty = true
      }
    }
    check.nowMs = nowMs
    check.startMs = start
    check.previous = previous
    check.current = current
    return available(check)
  },

  take(check, units) {
    const current = check.current + units
    check.current = current < check.most ? current : check.most
    check.dirty = true
    return available(check)
  },

  refund(check, units, untilUs) {
    // A charge weighs until the end of the window after its own.
    const untilMs = untilUs === undefined ? undefined : Math.floor(untilUs / 1_000)
    const ofCurrent = untilMs === undefined || untilMs > check.startMs + check.spanMs
    const ofPrevious = untilMs === undefined || (!ofCurrent && untilMs > check.startMs)
    const fromCurrent = ofCurrent ? Math.min(units, check.current) : 0
    const fromPrevious = ofPrevious ? Math.min(units - fromCurrent, check.previous) : 0
    if (fromCurrent + fromPrevious > 0) {
      check.current -= fromCurrent
      check.previous -= fromPrevious
      check.dirty = true
    }
    return available(check)
  },

  reconcile(check, units, untilUs) {
    const untilMs = Math.floor(untilUs / 1_000)
    if (untilMs > check.startMs + check.spanMs) return slidingCounter.take(check, units)
    if (untilMs > check.startMs) {
      check.previous = Math.min(check.previous + units, check.most)
      check.dirty = true
    }
    return available(check)
  },

  restore(check, used, untilUs) {
    // It was seen in the window that ends one span before `untilUs`, and a part of it may be the weight of the window before
    // that. So in the same window both counts together are at least as much, unless they were lost; and in the next one,
    // where the older count is gone, a window that has a count at all is taken to be intact.
    const startMs = Math.floor(untilUs / 1_000) - 2 * check.spanMs
    const seen = Math.min(used, check.most)
    const counted = check.current + check.previous
    if (startMs === check.startMs && seen > counted) {
      check.current += seen - counted
      check.dirty = true
    } else if (startMs === check.startMs - check.spanMs && check.previous === 0) {
      check.previous = seen
      check.dirty = true
    }
    return available(check)
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

  write(check, cells: Cells, offset) {
    cells[offset] = check.startMs
    cells[offset + 1] = check.previous
    cells[offset + 2] = check.current
    return cells
  },
}

function available({ limit, spanMs, nowMs, startMs, previous, current }: CounterCheck): number {
  const elapsed = nowMs > startMs ? nowMs - startMs : 0
  const used = current + Math.ceil((previous * (spanMs - elapsed)) / spanMs)
  return used < limit ? limit - used : 0
}
