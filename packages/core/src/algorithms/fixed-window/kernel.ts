// Fixed window: a count, and the end of the window it counts in.
//
//   left = limit - count, while now < end; a new window otherwise
//
// Bound: `limit` in a window, but up to twice the limit in a span that straddles two windows (the last moment of one and
// the first of the next). The end is part of the state: a TTL proves nothing under an injected clock.
// Another limit on the same state: count and end of the running window stay. An end more than one span ahead, after a
// step of the clock, is set anew and the count kept.

import { type Cells, type Check, type Kernel, MAX_UNITS } from '../algorithm.js'
import { fixedWindowLua } from '../lua.generated.js'

interface WindowCheck extends Check {
  readonly limit: number
  readonly spanMs: number
  readonly aligned: boolean
  nowMs: number
  count: number
  endMs: number
}

/** Numbers: limit, span in ms, 1 if windows are aligned to the Unix epoch (0: from the first request). */
export const fixedWindow: Kernel<WindowCheck> = {
  id: 'fixed1',
  lua: fixedWindowLua,
  width: 2,

  check: ([limit, spanMs, aligned]) => {
    return { limit, spanMs, aligned: aligned === 1, nowMs: 0, count: 0, endMs: 0, dirty: false }
  },

  share: ([, span, detail], limit) => [limit, span, detail],

  read(check, cells, offset, nowUs) {
    const nowMs = Math.floor(nowUs / 1_000)
    const running = cells !== undefined && (cells[offset + 1] as number) > nowMs
    check.nowMs = nowMs
    check.count = running ? (cells[offset] as number) : 0
    check.endMs = running ? (cells[offset + 1] as number) : endOfNew(check)
    check.dirty = check.endMs - nowMs > check.spanMs
    if (check.dirty) check.endMs = endOfNew(check)
    return available(check)
  },

  take(check, units) {
    const count = check.count + units
    check.count = count < MAX_UNITS ? count : MAX_UNITS
    check.dirty = true
    return available(check)
  },

  refund(check, units, untilUs) {
    const sameWindow = untilUs === undefined || untilUs >= check.endMs * 1_000
    if (sameWindow && check.count > 0) {
      check.count = check.count > units ? check.count - units : 0
      check.dirty = true
    }
    return available(check)
  },

  reconcile(check, units, untilUs) {
    const untilMs = Math.floor(untilUs / 1_000)
    if (untilMs <= check.nowMs) return available(check)
    if (check.count === 0 && untilMs < check.endMs) check.endMs = untilMs
    return fixedWindow.take(check, units)
  },

  restore(check, seen, untilUs) {
    const untilMs = Math.floor(untilUs / 1_000)
    if (untilMs <= check.nowMs || untilMs - check.nowMs > check.spanMs) return available(check)
    const used = Math.min(seen, MAX_UNITS)
    // A later end: the window was lost and began anew. It is the old one again, with what both have seen.
    const lost = check.count > 0 && untilMs < check.endMs
    if (lost || check.count === 0) {
      check.count = Math.min(check.count + used, MAX_UNITS)
      check.endMs = untilMs
      check.dirty = true
    } else if (used > check.count) {
      check.count = used
      check.dirty = true
    }
    return available(check)
  },

  retryAfterMs(check, cost) {
    if (cost > check.limit) return -1
    return check.count + cost > check.limit ? check.endMs - check.nowMs : 0
  },

  resetAfterUs: (check) => (check.count > 0 ? (check.endMs - check.nowMs) * 1_000 : 0),

  write(check, cells: Cells, offset) {
    cells[offset] = check.count
    cells[offset + 1] = check.endMs
    return cells
  },
}

function endOfNew({ nowMs, spanMs, aligned }: WindowCheck): number {
  return aligned ? (Math.floor(nowMs / spanMs) + 1) * spanMs : nowMs + spanMs
}

function available(check: WindowCheck): number {
  return check.count < check.limit ? check.limit - check.count : 0
}
