// Sliding log: when each unit was taken, as runs of units that share a tick. Exact with ticks of 1
// ms; with a coarser quantum (sub-windows) all units of a tick count as taken at its last
// millisecond, so the log stays strict, and only holds some units longer, by less than one quantum.
//
//   used = units of entries with tick + span > now
//   tick = last ms of the quantum that contains now
//
// Bound: never more than the limit in any window of one span (time counted in whole milliseconds).
// An entry carries the sum of all units up to it, so the units between two entries are one
// subtraction and every search is a bisection: work grows with the logarithm of the limit. Sums
// wrap around at 2^51, and only their differences are used, which are at most 2^50. A refund gives
// back the oldest units: they would have gone first, so no window can come to hold more than the
// limit (if A is taken at 0 and B at 40, and the refund of A dropped the record of B, limit + 1
// units would fit into the window from 40). Ticks never run backwards; a log more than a span
// ahead, which no quantum explains, is stamped anew as one run (healed). With another limit or
// quantum on the same state, entries keep their times.

import { EPOCH_MS } from '../../base/clock.js'
import { type Cells, COUNTED, type Kernel, MAX_UNITS } from '../algorithm.js'
import { slidingLogLua } from '../lua.generated.js'

// Cells: [first live entry, one past the last entry, floor, tick, sum, tick, sum, ...]; ticks in ms
// since 2025. Units up to the sum `floor` are gone: dead, or given back.
const FIRST = 0
const END = 1
const FLOOR = 2
const HEADER = 3
const EMPTY: Cells = new Float64Array([0, 0, 0])
/** Sums are kept modulo this. */
const ROUND = 2 * MAX_UNITS

type LogScratch = ReturnType<typeof prepare>

type Numbers = readonly [limit: number, spanMs: number, quantumMs: number]

function prepare([limit, spanMs, quantumMs]: Numbers) {
  return {
    limit,
    spanMs,
    quantumMs,
    nowMs: 0,
    /** The tick of units that are taken now. */
    newTick: 0,
    /** The stored log; EMPTY when all of it is dead or it is to be replaced by one run. */
    cells: EMPTY,
    first: 0,
    floor: 0,
    lastTick: 0,
    lastSum: 0,
    dirty: false,
  }
}

export const slidingLog: Kernel = {
  id: 'log1',
  lua: slidingLogLua,
  traits: COUNTED,
  width: 0,
  prepare,

  sizeOf(cells) {
    const end = cells[END] as number
    return (cells[FIRST] as number) < end ? HEADER + 2 * end : Number.NaN
  },

  read(scratch, stored, _offset, nowUs) {
    const { spanMs } = scratch
    const nowMs = Math.floor(nowUs / 1_000) - EPOCH_MS
    const cells = stored ?? EMPTY
    const end = cells[END] as number
    scratch.nowMs = nowMs
    scratch.newTick = tickAfter(scratch, nowMs)
    scratch.dirty = false
    if (end === 0 || tickAt(cells, end - 1) + spanMs <= nowMs) {
      restart(scratch, 0)
      return
    }
    const first = firstLive(scratch, cells)
    scratch.cells = cells
    scratch.first = first
    scratch.floor =
      first > (cells[FIRST] as number) ? sumAt(cells, first - 1) : (cells[FLOOR] as number)
    scratch.lastTick = tickAt(cells, end - 1)
    scratch.lastSum = sumAt(cells, end - 1)
    if (scratch.lastTick - nowMs <= spanMs) return
    restart(scratch, usedOf(scratch))
    scratch.dirty = true
  },

  used: usedOf,

  take: (scratch, units) => takeAt(scratch, units, scratch.newTick),

  ahead(scratch, untilUs) {
    scratch.newTick = tickAfter(scratch, Math.floor(untilUs / 1_000) - EPOCH_MS)
  },

  refund,

  cancel(scratch, units, untilUs) {
    const { cells, first, floor, lastTick, lastSum, spanMs } = scratch
    const end = cells[END] as number
    const isLast = end > 0 && Math.floor(untilUs / 1_000) - EPOCH_MS - spanMs === lastTick
    const before = end - 1 > first ? sumAt(cells, end - 2) : floor
    // The units are among those that were taken last; the entry stays.
    if (isLast && units < unitsBetween(before, lastSum)) {
      scratch.lastSum = (lastSum + ROUND - units) % ROUND
      scratch.dirty = true
    } else refund(scratch, units)
  },

  reconcile: (scratch, units, untilUs) => takeAt(scratch, units, tickUntil(scratch, untilUs)),

  restore(scratch, seen, untilUs, base) {
    const { cells, first } = scratch
    const tick = tickUntil(scratch, untilUs)
    // If all that counts was taken later, all that was seen was lost.
    const isLost = cells[END] !== 0 && tickAt(cells, first) > tick
    const known = base ?? (isLost ? 0 : usedOf(scratch))
    if (seen > known) takeAt(scratch, seen - known, tick)
    return Math.max(known, seen)
  },

  retryAfterMs(scratch, cost) {
    const { cells, limit, lastTick, spanMs, nowMs } = scratch
    // Units that this call took come last.
    const entry = firstReaching(scratch, usedOf(scratch) + cost - limit)
    const tick = entry < (cells[END] as number) ? tickAt(cells, entry) : lastTick
    return tick + spanMs - nowMs
  },

  resetAfterUs(scratch) {
    return usedOf(scratch) > 0 ? (scratch.lastTick + scratch.spanMs - scratch.nowMs) * 1_000 : 0
  },

  write(scratch, stored) {
    const { floor, lastTick, lastSum } = scratch
    let { cells, first } = scratch
    let end = cells[END] as number
    const appends = end === 0 || tickAt(cells, end - 1) !== lastTick
    if (cells === EMPTY) {
      cells =
        stored.length === HEADER + 2 * SMALLEST ? stored : new Float64Array(HEADER + 2 * SMALLEST)
    } else if (appends && HEADER + 2 * end === cells.length) {
      cells = withRoom(cells, first, end)
      end -= first
      first = 0
    }
    if (appends) end += 1
    cells[FIRST] = first
    cells[END] = end
    cells[FLOOR] = floor
    cells[HEADER + 2 * (end - 1)] = lastTick
    cells[HEADER + 2 * (end - 1) + 1] = lastSum
    return cells
  },
} satisfies Kernel<LogScratch>

const SMALLEST = 2

function tickAt(cells: Cells, entry: number): number {
  return cells[HEADER + 2 * entry] as number
}

/** The last ms of the quantum that contains a time. */
function tickAfter({ quantumMs }: Pick<LogScratch, 'quantumMs'>, ms: number): number {
  return Math.floor(ms / quantumMs) * quantumMs + quantumMs - 1
}

function sumAt(cells: Cells, entry: number): number {
  return cells[HEADER + 2 * entry + 1] as number
}

/**
 * The tick of units that count until a time; never ahead of the tick of units taken now, nor before
 * the origin of times.
 */
function tickUntil({ spanMs, newTick }: LogScratch, untilUs: number): number {
  return Math.max(0, Math.min(Math.floor(untilUs / 1_000) - EPOCH_MS - spanMs, newTick))
}

function takeAt(scratch: LogScratch, units: number, tick: number): void {
  const added = Math.min(units, MAX_UNITS - usedOf(scratch))
  if (added <= 0) return
  if (scratch.cells[END] === 0 || tick > scratch.lastTick) scratch.lastTick = tick
  scratch.lastSum = (scratch.lastSum + added) % ROUND
  scratch.dirty = true
}

function refund(scratch: LogScratch, units: number): void {
  const back = Math.min(units, usedOf(scratch))
  if (back === 0) return
  scratch.first = firstReaching(scratch, back + 1)
  scratch.floor = (scratch.floor + back) % ROUND
  scratch.dirty = true
}

/** Forgets the entries: the units in use, if any, become one run that was taken now. */
function restart(scratch: LogScratch, used: number): void {
  scratch.cells = EMPTY
  scratch.first = 0
  scratch.floor = 0
  scratch.lastTick = scratch.newTick
  scratch.lastSum = used
}

/** The units after one sum, and up to another. */
function unitsBetween(from: number, to: number): number {
  return from > to ? to - from + ROUND : to - from
}

function usedOf({ floor, lastSum }: LogScratch): number {
  return unitsBetween(floor, lastSum)
}

/** The first entry that still counts; the last one does. */
function firstLive({ spanMs, nowMs }: LogScratch, cells: Cells): number {
  let low = cells[FIRST] as number
  let high = (cells[END] as number) - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (tickAt(cells, middle) + spanMs > nowMs) high = middle
    else low = middle + 1
  }
  return low
}

/** The first live entry whose sum reaches the `units`-th unit in use. */
function firstReaching({ cells, first, floor }: LogScratch, units: number): number {
  let low = first
  let high = cells[END] as number
  while (low < high) {
    const middle = (low + high) >> 1
    if (unitsBetween(floor, sumAt(cells, middle)) >= units) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * Moves the live entries to the front: in place while that frees half of the cells, otherwise into
 * twice as many.
 */
function withRoom(cells: Cells, first: number, end: number): Cells {
  const live = end - first
  const roomy = 2 * live <= end ? cells : new Float64Array(HEADER + 4 * end)
  roomy.set(cells.subarray(HEADER + 2 * first, HEADER + 2 * end), HEADER)
  return roomy
}
