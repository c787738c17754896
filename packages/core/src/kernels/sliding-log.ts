// Sliding log: when each unit was taken, as runs of units that share a tick. Exact with ticks of 1 ms; with a coarser
// quantum (sub-windows) all units of a tick count as taken at its last millisecond, so it stays strict and only holds
// some units longer, by less than one quantum.
//
//   used = units of entries with tick + span > now        tick = last ms of the quantum that now lies in
//
// Bound: never more than the limit in any window of one span (time counted in whole milliseconds).
// An entry carries the sum of all units up to it, so the units between two entries are one subtraction and every
// search is a bisection: work grows with the logarithm of the limit.
// A refund gives back the oldest units: they would have gone first, so no window can come to hold more than the limit
// (A at 0, B at 40, refund A by dropping *B's* record: limit + 1 would fit in the window from 40).
// Ticks never run backwards; a log further ahead than a span and a quantum is stamped anew as one run (healed).
// Another limit, or another quantum, on the same state: entries keep their times.

import { EPOCH_MS } from '../clock.js'
import { slidingLogEntriesLua, slidingLogLua, slidingLogPlainLua } from '../lua.generated.js'
import { type Cells, type Check, type Kernel, MAX_UNITS } from './kernel.js'

// Cells: [first live entry, one past the last entry, floor, tick, sum, tick, sum, ...]; ticks in ms since 2025.
// Units up to the sum `floor` are gone: dead, or given back.
const FIRST = 0
const END = 1
const FLOOR = 2
const HEADER = 3
const EMPTY: Cells = new Float64Array([0, 0, 0])

interface LogCheck extends Check {
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
  /** A run to be put before the others: its tick, undefined if there is none, and the sum up to which it reaches. */
  olderTick: number | undefined
  olderSum: number
}

/** Numbers: limit, span in ms, quantum in ms. */
export const slidingLog: Kernel<LogCheck> = {
  id: 'log1',
  lua: slidingLogEntriesLua + slidingLogLua,
  plainLua: slidingLogEntriesLua + slidingLogPlainLua,
  width: 0,

  check: ([limit, spanMs, quantumMs]) => {
    const scratch = { nowMs: 0, cells: EMPTY, first: 0, floor: 0, lastTick: 0, lastSum: 0 }
    return { limit, spanMs, quantumMs, ...scratch, olderTick: undefined, olderSum: 0, dirty: false }
  },

  share: ([, span, detail], limit) => [limit, span, detail],

  read(check, stored, _offset, nowUs) {
    const nowMs = Math.floor(nowUs / 1_000) - EPOCH_MS
    check.nowMs = nowMs
    check.olderTick = undefined
    check.dirty = false
    const cells = stored ?? EMPTY
    const end = cells[END] as number
    if (end === 0 || tickAt(cells, end - 1) + check.spanMs <= nowMs) return restart(check, 0)
    const first = firstLive(check, cells)
    check.cells = cells
    check.first = first
    check.floor = first > (cells[FIRST] as number) ? sumAt(cells, first - 1) : (cells[FLOOR] as number)
    check.lastTick = tickAt(cells, end - 1)
    check.lastSum = sumAt(cells, end - 1)
    if (check.lastTick - nowMs <= check.spanMs + check.quantumMs) return available(check)
    restart(check, check.lastSum - check.floor)
    check.dirty = true
    return available(check)
  },

  take: (check, units) => takeAt(check, units, tickOf(check)),

  giveBack(check, units, untilUs) {
    const used = check.lastSum - check.floor
    if (used > 0 && (untilUs === undefined || Math.floor(untilUs / 1_000) - EPOCH_MS > check.nowMs)) {
      check.floor += units < used ? units : used
      check.dirty = true
    }
    return available(check)
  },

  settle(check, units, untilUs) {
    const tick = tickUntil(check, untilUs)
    return tick + check.spanMs > check.nowMs ? takeAt(check, units, tick) : available(check)
  },

  raise(check, used, untilUs) {
    const tick = tickUntil(check, untilUs)
    if (tick + check.spanMs <= check.nowMs || used === 0) return available(check)
    if (check.cells[END] === 0) {
      // Also of a run that is healed and full, to which nothing is added: a second raise has to find it there.
      check.lastTick = tick
      return takeAt(check, used, tick)
    }
    if (reachesBackTo(check, tick, used)) return available(check)
    // What was lost comes first, as one run.
    check.olderTick = tick
    check.olderSum = check.floor
    check.floor -= used
    check.dirty = true
    return available(check)
  },

  retryAfterMs(check, cost) {
    if (cost > check.limit) return -1
    const excess = check.lastSum - check.floor + cost - check.limit
    if (excess <= 0) return 0
    return tickReaching(check, check.floor + excess) + check.spanMs - check.nowMs
  },

  resetAfterUs(check) {
    return check.lastSum > check.floor ? (check.lastTick + check.spanMs - check.nowMs) * 1_000 : 0
  },

  write(check, stored) {
    const { floor, lastTick, lastSum, olderTick } = check
    if (olderTick !== undefined) return withOlder(check, olderTick)
    let cells = check.cells
    let first = check.first
    let end = cells[END] as number
    while (first < end && sumAt(cells, first) <= floor) first += 1
    const appends = end === 0 || tickAt(cells, end - 1) !== lastTick
    if (cells === EMPTY) {
      cells = stored.length === HEADER + 2 * SMALLEST ? stored : new Float64Array(HEADER + 2 * SMALLEST)
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

function tickOf({ nowMs, quantumMs }: LogCheck): number {
  return Math.floor(nowMs / quantumMs) * quantumMs + quantumMs - 1
}

/** The tick of what weighs until then; never ahead of what is taken now, nor before the origin of times. */
function tickUntil(check: LogCheck, untilUs: number): number {
  return Math.max(0, Math.min(Math.floor(untilUs / 1_000) - EPOCH_MS - check.spanMs, tickOf(check)))
}

/** Whether the log was not lost since `used` units were in use at `tick`: it has older entries, or as many units. Of
 *  those units some may have died since, but not within the tick itself. */
function reachesBackTo(check: LogCheck, tick: number, used: number): boolean {
  const firstTick = tickAt(check.cells, check.first)
  if (firstTick !== tick || tick !== tickOf(check)) return firstTick <= tick
  return check.lastSum - check.floor >= Math.min(used, MAX_UNITS)
}

function takeAt(check: LogCheck, units: number, tick: number): number {
  const used = check.lastSum - check.floor
  const added = units < MAX_UNITS - used ? units : MAX_UNITS - used
  if (added <= 0) return available(check)
  if (check.lastSum + added > 2 * MAX_UNITS) restart(check, used)
  if (check.cells[END] === 0 || tick > check.lastTick) check.lastTick = tick
  check.lastSum += added
  check.dirty = true
  return available(check)
}

/** Forgets the entries: what is used, if anything, becomes one run that was taken now. */
function restart(check: LogCheck, used: number): number {
  check.cells = EMPTY
  check.first = 0
  check.floor = 0
  check.lastTick = tickOf(check)
  check.lastSum = used
  return available(check)
}

function available({ limit, lastSum, floor }: LogCheck): number {
  const used = lastSum - floor
  return used < limit ? limit - used : 0
}

/** The first entry that still counts. The last one does. */
function firstLive({ spanMs, nowMs }: LogCheck, cells: Cells): number {
  let low = cells[FIRST] as number
  let high = (cells[END] as number) - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (tickAt(cells, middle) + spanMs > nowMs) high = middle
    else low = middle + 1
  }
  return low
}

/** The tick of the first live entry whose sum reaches `sum`; units taken by this very call come last. */
function tickReaching({ cells, first, lastTick, olderTick, olderSum }: LogCheck, sum: number): number {
  if (olderTick !== undefined && sum <= olderSum) return olderTick
  let low = first
  let high = cells[END] as number
  while (low < high) {
    const middle = (low + high) >> 1
    if (sumAt(cells, middle) >= sum) high = middle
    else low = middle + 1
  }
  return low < (cells[END] as number) ? tickAt(cells, low) : lastTick
}

/** The live entries after one that has the tick and carries the units down to the floor. */
function withOlder({ cells, first, floor, olderSum }: LogCheck, tick: number): Cells {
  const end = cells[END] as number
  const older = new Float64Array(HEADER + 4 * (end - first + 1))
  older.set(cells.subarray(HEADER + 2 * first, HEADER + 2 * end), HEADER + 2)
  older[END] = end - first + 1
  older[FLOOR] = floor
  older[HEADER] = tick
  older[HEADER + 1] = olderSum
  return older
}

/** The live entries moved to the front: in place while that frees half of the cells, else into twice as many. */
function withRoom(cells: Cells, first: number, end: number): Cells {
  const live = end - first
  const roomy = 2 * live <= end ? cells : new Float64Array(HEADER + 4 * end)
  roomy.set(cells.subarray(HEADER + 2 * first, HEADER + 2 * end), HEADER)
  return roomy
}
