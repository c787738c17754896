// Sliding log: when each unit was taken, as runs of units that share a tick. Exact with ticks of 1
// ms; with a coarser quantum (sub-windows) all units of a tick count as taken at its last
// millisecond, so it stays strict and only holds some units longer, by less than one quantum.
//
//   used = units of entries with tick + span > now
//   tick = last ms of the quantum that now lies in
//
// Bound: never more than the limit in any window of one span (time counted in whole milliseconds).
// An entry carries the sum of all units up to it, so the units between two entries are one
// subtraction and every search is a bisection: work grows with the logarithm of the limit. Sums go
// round at 2^51, and only differences of them are used, which are 2^50 at the most. A refund gives
// back the oldest units: they would have gone first, so no window can come to hold more than the
// limit (A at 0, B at 40, refund A by dropping *B's* record: limit + 1 would fit in the window from
// 40). Ticks never run backwards; a log more than a span ahead is stamped anew as one run (healed).
// No quantum is as long. Another limit, or another quantum, on the same state: entries keep their
// times.

import { EPOCH_MS } from '../../base/clock.js'
import { type Cells, type Kernel, MAX_UNITS, type Scratch } from '../algorithm.js'
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

interface LogScratch extends Scratch {
  readonly limit: number
  readonly spanMs: number
  readonly quantumMs: number
  nowMs: number
  /** The stored log; EMPTY when all of it is dead or it is to be replaced by one run. */
  cells: Cells
  first: number
  floor: number
  lastTick: number
  lastSum: number
  /** A run to be put before the others: its tick, undefined if there is none, and the sum up to
   *  which it reaches. */
  olderTick: number | undefined
  olderSum: number
}

/** Numbers: limit, span in ms, quantum in ms. */
export const slidingLog: Kernel<LogScratch> = {
  id: 'log1',
  lua: slidingLogLua,
  traits: { drains: false, hasOneEnd: false },
  width: 0,

  prepare: ([limit, spanMs, quantumMs]) => {
    const scratch = { nowMs: 0, cells: EMPTY, first: 0, floor: 0, lastTick: 0, lastSum: 0 }
    return { limit, spanMs, quantumMs, ...scratch, olderTick: undefined, olderSum: 0, dirty: false }
  },

  share: ([, span, detail], limit) => [limit, span, detail],

  read(scratch, stored, _offset, nowUs) {
    const nowMs = Math.floor(nowUs / 1_000) - EPOCH_MS
    scratch.nowMs = nowMs
    scratch.olderTick = undefined
    scratch.dirty = false
    const cells = stored ?? EMPTY
    const end = cells[END] as number
    if (end === 0 || tickAt(cells, end - 1) + scratch.spanMs <= nowMs) return restart(scratch, 0)
    const first = firstLive(scratch, cells)
    scratch.cells = cells
    scratch.first = first
    scratch.floor =
      first > (cells[FIRST] as number) ? sumAt(cells, first - 1) : (cells[FLOOR] as number)
    scratch.lastTick = tickAt(cells, end - 1)
    scratch.lastSum = sumAt(cells, end - 1)
    if (scratch.lastTick - nowMs <= scratch.spanMs) return available(scratch)
    restart(scratch, usedOf(scratch))
    scratch.dirty = true
    return available(scratch)
  },

  take: (scratch, units) => takeAt(scratch, units, tickOf(scratch)),

  refund(scratch, units, untilUs) {
    const used = usedOf(scratch)
    if (
      used > 0 &&
      (untilUs === undefined || Math.floor(untilUs / 1_000) - EPOCH_MS > scratch.nowMs)
    ) {
      const back = units < used ? units : used
      scratch.first = firstReaching(scratch, back + 1)
      scratch.floor = (scratch.floor + back) % ROUND
      scratch.dirty = true
    }
    return available(scratch)
  },

  reconcile(scratch, units, untilUs) {
    const tick = tickUntil(scratch, untilUs)
    return tick + scratch.spanMs > scratch.nowMs ? takeAt(scratch, units, tick) : available(scratch)
  },

  restore(scratch, used, untilUs) {
    const tick = tickUntil(scratch, untilUs)
    if (tick + scratch.spanMs <= scratch.nowMs || used === 0) return available(scratch)
    if (scratch.cells[END] === 0) {
      // Also of a run that is healed and full, to which nothing is added: a second restore has to
      // find it there.
      scratch.lastTick = tick
      return takeAt(scratch, used, tick)
    }
    const room = MAX_UNITS - usedOf(scratch)
    if (room <= 0 || reachesBackTo(scratch, tick, used)) return available(scratch)
    // What was lost comes first, as one run.
    scratch.olderTick = tick
    scratch.olderSum = scratch.floor
    scratch.floor = (scratch.floor + ROUND - Math.min(used, room)) % ROUND
    scratch.dirty = true
    return available(scratch)
  },

  retryAfterMs(scratch, cost) {
    if (cost > scratch.limit) return -1
    const excess = usedOf(scratch) + cost - scratch.limit
    if (excess <= 0) return 0
    return tickReaching(scratch, excess) + scratch.spanMs - scratch.nowMs
  },

  resetAfterUs(scratch) {
    return usedOf(scratch) > 0 ? (scratch.lastTick + scratch.spanMs - scratch.nowMs) * 1_000 : 0
  },

  write(scratch, stored) {
    const { floor, lastTick, lastSum, olderTick } = scratch
    if (olderTick !== undefined) return withOlder(scratch, olderTick)
    let cells = scratch.cells
    let first = scratch.first
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
}

const SMALLEST = 2

function tickAt(cells: Cells, entry: number): number {
  return cells[HEADER + 2 * entry] as number
}

function sumAt(cells: Cells, entry: number): number {
  return cells[HEADER + 2 * entry + 1] as number
}

function tickOf({ nowMs, quantumMs }: LogScratch): number {
  return Math.floor(nowMs / quantumMs) * quantumMs + quantumMs - 1
}

/**
 * The tick of what weighs until then; never ahead of what is taken now, nor before the origin of
 * times.
 */
function tickUntil(scratch: LogScratch, untilUs: number): number {
  return Math.max(
    0,
    Math.min(Math.floor(untilUs / 1_000) - EPOCH_MS - scratch.spanMs, tickOf(scratch)),
  )
}

/**
 * Whether the log was not lost since `used` units were in use at `tick`: it has older entries, or
 * as many units. Of those units some may have died since, but not within the tick itself.
 */
function reachesBackTo(scratch: LogScratch, tick: number, used: number): boolean {
  const firstTick = tickAt(scratch.cells, scratch.first)
  if (firstTick !== tick || tick !== tickOf(scratch)) return firstTick <= tick
  return usedOf(scratch) >= Math.min(used, MAX_UNITS)
}

function takeAt(scratch: LogScratch, units: number, tick: number): number {
  const room = MAX_UNITS - usedOf(scratch)
  const added = units < room ? units : room
  if (added <= 0) return available(scratch)
  if (scratch.cells[END] === 0 || tick > scratch.lastTick) scratch.lastTick = tick
  scratch.lastSum = (scratch.lastSum + added) % ROUND
  scratch.dirty = true
  return available(scratch)
}

/** Forgets the entries: what is used, if anything, becomes one run that was taken now. */
function restart(scratch: LogScratch, used: number): number {
  scratch.cells = EMPTY
  scratch.first = 0
  scratch.floor = 0
  scratch.lastTick = tickOf(scratch)
  scratch.lastSum = used
  return available(scratch)
}

/** The units after one sum, and up to another. */
function unitsBetween(from: number, to: number): number {
  return from > to ? to - from + ROUND : to - from
}

function usedOf({ floor, lastSum }: LogScratch): number {
  return unitsBetween(floor, lastSum)
}

function available(scratch: LogScratch): number {
  const used = usedOf(scratch)
  return used < scratch.limit ? scratch.limit - used : 0
}

/** The first entry that still counts. The last one does. */
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

/** The first live entry that has the `units`-th of the units in use, or a later one. */
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

/** The tick of the `units`-th of the units in use; those taken by this very call come last. */
function tickReaching(scratch: LogScratch, units: number): number {
  const { cells, floor, lastTick, olderTick, olderSum } = scratch
  if (olderTick !== undefined && units <= unitsBetween(floor, olderSum)) return olderTick
  const entry = firstReaching(scratch, units)
  return entry < (cells[END] as number) ? tickAt(cells, entry) : lastTick
}

/** The live entries after one that has the tick and carries the units down to the floor. */
function withOlder({ cells, first, floor, olderSum }: LogScratch, tick: number): Cells {
  const end = cells[END] as number
  const older = new Float64Array(HEADER + 4 * (end - first + 1))
  older.set(cells.subarray(HEADER + 2 * first, HEADER + 2 * end), HEADER + 2)
  older[END] = end - first + 1
  older[FLOOR] = floor
  older[HEADER] = tick
  older[HEADER + 1] = olderSum
  return older
}

/**
 * The live entries moved to the front: in place while that frees half of the cells, else into twice
 * as many.
 */
function withRoom(cells: Cells, first: number, end: number): Cells {
  const live = end - first
  const roomy = 2 * live <= end ? cells : new Float64Array(HEADER + 4 * end)
  roomy.set(cells.subarray(HEADER + 2 * first, HEADER + 2 * end), HEADER)
  return roomy
}
