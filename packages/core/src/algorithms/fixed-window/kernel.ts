// Fixed window: a count, and the end of the window it counts in.
//
//   left = limit - count, while now < end; a new window otherwise
//
// Bound: `limit` in a window, but up to twice the limit in a span that straddles two windows (the
// last moment of one and the first of the next). The end is part of the state: a TTL proves nothing
// under an injected clock. Another limit on the same state: count and end of the running window
// stay. An end more than one span ahead, after a step of the clock, is set anew and the count kept.

import { type Cells, type Kernel, MAX_UNITS, type Scratch } from '../algorithm.js'
import { fixedWindowLua } from '../lua.generated.js'

interface WindowScratch extends Scratch {
  readonly limit: number
  readonly spanMs: number
  readonly aligned: boolean
  nowMs: number
  count: number
  endMs: number
}

/**
 * Numbers: limit, span in ms, 1 if windows are aligned to the Unix epoch (0: from the first
 * request).
 */
export const fixedWindow: Kernel<WindowScratch> = {
  id: 'fixed1',
  lua: fixedWindowLua,
  traits: { drains: false, hasOneEnd: true },
  width: 2,

  prepare: ([limit, spanMs, aligned]) => {
    return { limit, spanMs, aligned: aligned === 1, nowMs: 0, count: 0, endMs: 0, dirty: false }
  },

  share: ([, span, detail], limit) => [limit, span, detail],

  read(scratch, cells, offset, nowUs) {
    const nowMs = Math.floor(nowUs / 1_000)
    const running = cells !== undefined && (cells[offset + 1] as number) > nowMs
    scratch.nowMs = nowMs
    scratch.count = running ? (cells[offset] as number) : 0
    scratch.endMs = running ? (cells[offset + 1] as number) : endOfNew(scratch)
    scratch.dirty = scratch.endMs - nowMs > scratch.spanMs
    if (scratch.dirty) scratch.endMs = endOfNew(scratch)
    return available(scratch)
  },

  take(scratch, units) {
    const count = scratch.count + units
    scratch.count = count < MAX_UNITS ? count : MAX_UNITS
    scratch.dirty = true
    return available(scratch)
  },

  refund(scratch, units, untilUs) {
    const sameWindow = untilUs === undefined || untilUs >= scratch.endMs * 1_000
    if (sameWindow && scratch.count > 0) {
      scratch.count = scratch.count > units ? scratch.count - units : 0
      scratch.dirty = true
    }
    return available(scratch)
  },

  reconcile(scratch, units, untilUs) {
    const untilMs = Math.floor(untilUs / 1_000)
    if (untilMs <= scratch.nowMs) return available(scratch)
    if (scratch.count === 0 && untilMs < scratch.endMs) scratch.endMs = untilMs
    return fixedWindow.take(scratch, units)
  },

  restore(scratch, seen, untilUs) {
    const untilMs = Math.floor(untilUs / 1_000)
    if (untilMs <= scratch.nowMs || untilMs - scratch.nowMs > scratch.spanMs)
      return available(scratch)
    const used = Math.min(seen, MAX_UNITS)
    // A later end: the window was lost and began anew. It is the old one again, with what both have
    // seen.
    const lost = scratch.count > 0 && untilMs < scratch.endMs
    if (lost || scratch.count === 0) {
      scratch.count = Math.min(scratch.count + used, MAX_UNITS)
      scratch.endMs = untilMs
      scratch.dirty = true
    } else if (used > scratch.count) {
      scratch.count = used
      scratch.dirty = true
    }
    return available(scratch)
  },

  retryAfterMs(scratch, cost) {
    if (cost > scratch.limit) return -1
    return scratch.count + cost > scratch.limit ? scratch.endMs - scratch.nowMs : 0
  },

  resetAfterUs: (scratch) => (scratch.count > 0 ? (scratch.endMs - scratch.nowMs) * 1_000 : 0),

  write(scratch, cells: Cells, offset) {
    cells[offset] = scratch.count
    cells[offset + 1] = scratch.endMs
    return cells
  },
}

function endOfNew({ nowMs, spanMs, aligned }: WindowScratch): number {
  return aligned ? (Math.floor(nowMs / spanMs) + 1) * spanMs : nowMs + spanMs
}

function available(scratch: WindowScratch): number {
  return scratch.count < scratch.limit ? scratch.limit - scratch.count : 0
}
