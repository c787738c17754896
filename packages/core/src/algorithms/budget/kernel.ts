// Budget: a total that no time gives back. Estimates are held for a time, as runs of units that
// expire together, until a settlement turns them into what was spent.
//
//   used   = spent + units of runs with expiry > now
//   expiry = now + hold, rounded up to a multiple of the part, which is a sixtieth of hold
//   end    = the last use + forget; then the key is forgotten
//
// Bound: the limit, and beyond it what settlements, renewals and penalties take past it. Expiries
// are multiples of the part, later than now and at most hold + part ahead, so there are at most 61
// runs. Policies with another hold may add theirs to the same key: an estimate that finds 122 runs,
// and none with its expiry, is spent at once. A policy without a hold spends at once what it takes.
//
// A decision names the run of its units by its receipt's end, which is the time of the charge +
// forget. A settlement takes from that run what was charged, and from no other. If the run has
// nothing left, the settlement has been made before, and does nothing: so it may be repeated. If
// several decisions share a run and one of them is settled twice, the run still gives no more than
// it held. If the run has expired, the settlement spends all that was used.
//
// What is restored after a loss, or was taken while the store was away, is spent. With another
// limit, hold or forget on the same state, what is spent or held stays. After the clock has stepped
// back, or with a shorter forget, times further ahead than a new end are brought forward to it.

import { COUNTED, type Kernel, MAX_UNITS } from '../algorithm.js'
import { budgetLua } from '../lua.generated.js'

// Cells: [end, 1 + runs, spent, expiry, units, expiry, units, ...], the next to expire first.
// Memory keeps cells whose second number is 1 without an array.
const END = 0
const PAIRS = 1
const SPENT = 2
const HEADER = 3

const PARTS = 60
const MOST_RUNS = 122

type BudgetScratch = ReturnType<typeof prepare>

/** Hold: 0 if estimates are spent at once. */
type Numbers = readonly [limit: number, holdMs: number, forgetMs: number]

function prepare([limit, holdMs, forgetMs]: Numbers) {
  return {
    limit,
    holdMs,
    forgetMs,
    partMs: Math.max(1, Math.ceil(holdMs / PARTS)),
    nowMs: 0,
    endMs: 0,
    spent: 0,
    held: 0,
    expiries: [] as number[],
    units: [] as number[],
    dirty: false,
  }
}

const spending = {
  id: 'budget1',
  lua: budgetLua,
  traits: {
    ...COUNTED,
    hasOneEnd: true,
    isAskedLast: true,
    isLeased: false,
    isLasting: true,
    hasWindow: false,
  },
  width: 0,
  prepare,

  sizeOf(cells) {
    const pairs = cells[PAIRS] as number
    return pairs > 0 ? 1 + 2 * pairs : Number.NaN
  },

  read(scratch, cells, _offset, nowUs) {
    const { forgetMs, expiries, units } = scratch
    const nowMs = Math.floor(nowUs / 1_000)
    const newEnd = nowMs + forgetMs
    scratch.nowMs = nowMs
    scratch.endMs = newEnd
    scratch.spent = scratch.held = 0
    scratch.dirty = false
    expiries.length = units.length = 0
    if (cells === undefined || (cells[END] as number) <= nowMs) return
    const isAhead = (cells[END] as number) > newEnd
    scratch.spent = cells[SPENT] as number
    const size = 1 + 2 * (cells[PAIRS] as number)
    for (let at = HEADER; at < size; at += 2) {
      const expiry = cells[at] as number
      if (expiry <= nowMs) continue
      add(scratch, Math.min(expiry, newEnd), cells[at + 1] as number)
    }
    if (!isAhead) scratch.endMs = cells[END] as number
    scratch.dirty = isAhead
  },

  used: ({ spent, held }) => spent + held,

  take(scratch, units) {
    if (scratch.holdMs === 0) spend(scratch, units)
    else add(scratch, expiryOf(scratch, scratch.nowMs), units)
    use(scratch)
  },

  spend(scratch, units) {
    spend(scratch, units)
    use(scratch)
  },

  settle(scratch, charged, actual, untilUs) {
    const { nowMs, holdMs } = scratch
    let more = actual
    if (holdMs === 0) {
      more -= charged
      if (more < 0 && Math.floor(untilUs / 1_000) > nowMs) giveBack(scratch, -more)
    } else {
      const expiry = expiryOf(scratch, chargedMs(scratch, untilUs))
      if (expiry > nowMs && charged > 0) {
        const ended = end(scratch, expiry, charged)
        more = ended === 0 ? 0 : ended + actual - charged
      }
    }
    if (more <= 0) return
    spend(scratch, more)
    use(scratch)
  },

  refund(scratch, units, untilUs) {
    const { holdMs } = scratch
    const isNamed = holdMs > 0 && untilUs < Number.POSITIVE_INFINITY
    // What has expired is back already.
    if (isNamed) end(scratch, expiryOf(scratch, chargedMs(scratch, untilUs)), units)
    else giveBack(scratch, units)
  },

  reconcile(scratch, units) {
    spend(scratch, units)
    use(scratch)
  },

  restore(scratch, seen, _untilUs, base) {
    const known = base ?? scratch.spent + scratch.held
    if (seen > known) {
      spend(scratch, seen - known)
      use(scratch)
    }
    return Math.max(known, seen)
  },

  retryAfterMs({ limit, spent, held, expiries, units, nowMs }, cost) {
    let left = limit - spent - held
    let i = 0
    while (left < cost && i < expiries.length) {
      left += units[i] as number
      i += 1
    }
    return left < cost ? -1 : (expiries[i - 1] as number) - nowMs
  },

  resetAfterUs: ({ spent, held, endMs, nowMs }) => (spent + held > 0 ? (endMs - nowMs) * 1_000 : 0),

  write({ endMs, spent, expiries, units }, stored) {
    const runs = expiries.length
    const size = HEADER + 2 * runs
    const cells = stored.length >= size ? stored : new Float64Array(HEADER + 4 * runs)
    cells[PAIRS] = 1 + runs
    cells[END] = endMs
    cells[SPENT] = spent
    for (let i = 0; i < runs; i += 1) {
      cells[HEADER + 2 * i] = expiries[i] as number
      cells[HEADER + 2 * i + 1] = units[i] as number
    }
    return cells
  },
} satisfies Kernel<BudgetScratch>

/** A budget that spends at once. */
export const budget: Kernel = spending

/** One that holds estimates. */
export const budgetOfHolds: Kernel = {
  ...spending,
  traits: { ...spending.traits, hasOneEnd: false, isHeld: true },

  renew(scratch, units, untilUs) {
    if (scratch.holdMs === 0) return
    end(scratch, expiryOf(scratch, chargedMs(scratch, untilUs)), units)
    add(scratch, expiryOf(scratch, scratch.nowMs), units)
    use(scratch)
  },

  holdMs: ([, holdMs]) => holdMs as number,
  expiryMs(numbers, untilUs) {
    const scratch = prepare(numbers as Numbers)
    return expiryOf(scratch, chargedMs(scratch, untilUs))
  },
  withoutHolds: ([limit, , forgetMs]) => [limit as number, 0, forgetMs as number],
} satisfies Kernel<BudgetScratch>

/** When an estimate that is taken at a time expires. */
function expiryOf({ holdMs, partMs }: BudgetScratch, ms: number): number {
  return Math.ceil((ms + holdMs) / partMs) * partMs
}

/** When units were taken that count until a time. */
function chargedMs({ forgetMs }: BudgetScratch, untilUs: number): number {
  return Math.floor(untilUs / 1_000) - forgetMs
}

/** Keeps the state for the whole time from now on. */
function use(scratch: BudgetScratch): void {
  scratch.endMs = scratch.nowMs + scratch.forgetMs
  scratch.dirty = true
}

function spend(scratch: BudgetScratch, units: number): void {
  scratch.spent = Math.min(scratch.spent + units, MAX_UNITS - scratch.held)
}

function giveBack(scratch: BudgetScratch, units: number): void {
  const back = Math.min(units, scratch.spent)
  if (back === 0) return
  scratch.spent -= back
  scratch.dirty = true
}

/** Holds units until an expiry. */
function add(scratch: BudgetScratch, expiry: number, more: number): void {
  const { expiries, units, spent, held } = scratch
  const added = Math.min(more, MAX_UNITS - spent - held)
  if (added <= 0) return
  let at = expiries.length
  while (at > 0 && (expiries[at - 1] as number) > expiry) at -= 1
  if (at > 0 && expiries[at - 1] === expiry) units[at - 1] = (units[at - 1] as number) + added
  else if (expiries.length >= MOST_RUNS) {
    scratch.spent += added
    return
  } else {
    expiries.splice(at, 0, expiry)
    units.splice(at, 0, added)
  }
  scratch.held += added
}

/** Ends holds of the run with that expiry. Returns how many units of it there were. */
function end(scratch: BudgetScratch, expiry: number, most: number): number {
  const { expiries, units } = scratch
  const at = expiries.indexOf(expiry)
  if (at < 0) return 0
  const ended = Math.min(most, units[at] as number)
  units[at] = (units[at] as number) - ended
  if (units[at] === 0) {
    expiries.splice(at, 1)
    units.splice(at, 1)
  }
  scratch.held -= ended
  scratch.dirty = true
  return ended
}
