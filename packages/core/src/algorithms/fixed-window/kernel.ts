// Fixed window: a count, and the end of the window it counts in.
//
//   left = limit - count, while now < end; a new window otherwise
//
// Bound: `limit` in a window, but up to twice the limit in a span that straddles two windows (the
// last moment of one and the first of the next). The end is part of the state: a TTL proves nothing
// under an injected clock. With another limit on the same state, the running window's count and end
// stay. An end more than one span ahead, after a step of the clock, is set anew, and the count is
// kept.

import { COUNTED, type Kernel, MAX_UNITS } from '../algorithm.js'
import { fixedWindowLua } from '../lua.generated.js'

type WindowScratch = ReturnType<typeof prepare>

/** Aligned: 1 if windows are aligned to the Unix epoch, 0 if they begin with a request. */
type Numbers = readonly [limit: number, spanMs: number, aligned: number]

function prepare([limit, spanMs, aligned]: Numbers) {
  return { limit, spanMs, aligned: aligned === 1, nowMs: 0, count: 0, endMs: 0, dirty: false }
}

export const fixedWindow: Kernel = {
  id: 'fixed1',
  lua: fixedWindowLua,
  traits: { ...COUNTED, hasOneEnd: true },
  width: 2,
  prepare,

  read(scratch, cells, offset, nowUs) {
    const nowMs = Math.floor(nowUs / 1_000)
    const { spanMs, aligned } = scratch
    const newEndMs = aligned ? (Math.floor(nowMs / spanMs) + 1) * spanMs : nowMs + spanMs
    const running = cells !== undefined && (cells[offset + 1] as number) > nowMs
    scratch.nowMs = nowMs
    scratch.count = running ? (cells[offset] as number) : 0
    scratch.endMs = running ? (cells[offset + 1] as number) : newEndMs
    scratch.dirty = scratch.endMs - nowMs > spanMs
    if (scratch.dirty) scratch.endMs = newEndMs
  },

  used: ({ count }) => count,

  take,

  refund(scratch, units, untilUs) {
    if (untilUs >= scratch.endMs * 1_000 && scratch.count > 0) {
      scratch.count = scratch.count > units ? scratch.count - units : 0
      scratch.dirty = true
    }
  },

  reconcile(scratch, units, untilUs) {
    if (scratch.count === 0) scratch.endMs = Math.min(scratch.endMs, Math.floor(untilUs / 1_000))
    take(scratch, units)
  },

  restore(scratch, seen, untilUs, base) {
    const untilMs = Math.floor(untilUs / 1_000)
    if (untilMs - scratch.nowMs > scratch.spanMs) return base ?? scratch.count
    // A later end means that the window was lost and began anew. It becomes the old one again, with
    // both counts.
    const isNew = untilMs < scratch.endMs
    const known = base ?? (isNew ? 0 : scratch.count)
    if (seen > known) {
      take(scratch, seen - known)
      if (isNew) scratch.endMs = untilMs
    }
    return Math.max(known, seen)
  },

  retryAfterMs: ({ endMs, nowMs }) => endMs - nowMs,

  resetAfterUs: ({ count, endMs, nowMs }) => (count > 0 ? (endMs - nowMs) * 1_000 : 0),

  write(scratch, cells, offset) {
    cells[offset] = scratch.count
    cells[offset + 1] = scratch.endMs
    return cells
  },
} satisfies Kernel<WindowScratch>

function take(scratch: WindowScratch, units: number): void {
  scratch.count = Math.min(scratch.count + units, MAX_UNITS)
  scratch.dirty = true
}
