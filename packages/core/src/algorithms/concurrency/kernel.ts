// Concurrency: slots that are taken for a time, as runs of slots that expire together. A holder
// that works longer renews its slots, a holder that ends gives them back, and a crashed holder's
// slots expire.
//
//   used   = slots of runs with expiry > now
//   expiry = now + hold, rounded up to a multiple of the part, which is a sixtieth of hold
//
// Bound: the limit at any instant, and beyond it the slots that are renewed after they were gone
// (`renew`). A slot that nobody gives back is free within hold + part. Expiries are multiples of
// the part, later than now and at most hold + part ahead, so there are at most 61 runs. A decision
// names the run of its slots by the run's expiry. Slots are given back from that run and from no
// other, so nobody frees the slot of a holder who came at another time. After the clock has stepped
// back, an expiry further ahead than a new slot's is brought forward to that one. With another
// limit on the same state, slots stay taken.
//
// It restores nothing: renewals name the slots that they held, so they repair a loss of data.

import { EPOCH_MS } from '../../base/clock.js'
import { COUNTED, type Kernel, MAX_UNITS } from '../algorithm.js'
import { concurrencyLua } from '../lua.generated.js'

// Cells: [runs, expiry, slots, expiry, slots, ...], the next to expire first; in ms since 2025.
const RUNS = 0
const HEADER = 1
const SMALLEST = 2

const PARTS = 60
/** Nobody can know when a slot will be given back and to whom it goes, so the wait is a hint. */
const LONGEST_HINT_MS = 1_000

type ConcurrencyScratch = ReturnType<typeof prepare>

type Numbers = readonly [limit: number, holdMs: number]

function prepare([limit, holdMs]: Numbers) {
  return {
    limit,
    holdMs,
    partMs: Math.ceil(holdMs / PARTS),
    nowMs: 0,
    /** The expiry of slots that are taken now: the latest possible one. */
    newExpiry: 0,
    expiries: [] as number[],
    slots: [] as number[],
    used: 0,
    dirty: false,
  }
}

export const concurrency: Kernel = {
  id: 'slots1',
  lua: concurrencyLua,
  traits: {
    ...COUNTED,
    isAskedLast: true,
    isLeased: false,
    takesOne: true,
    isHeld: true,
    isReleased: true,
    isHint: true,
    restores: false,
    hasWindow: false,
  },
  width: 0,
  prepare,

  sizeOf(cells) {
    const runs = cells[RUNS] as number
    return runs > 0 ? HEADER + 2 * runs : Number.NaN
  },

  read(scratch, cells, _offset, nowUs) {
    const { holdMs, partMs, expiries, slots } = scratch
    const nowMs = Math.floor(nowUs / 1_000) - EPOCH_MS
    scratch.nowMs = nowMs
    scratch.newExpiry = Math.ceil((nowMs + holdMs) / partMs) * partMs
    scratch.dirty = false
    scratch.used = 0
    expiries.length = slots.length = 0
    if (cells === undefined) return
    const runs = cells[RUNS] as number
    for (let i = 0; i < runs; i += 1) {
      const expiry = cells[HEADER + 2 * i] as number
      if (expiry > nowMs) add(scratch, expiry, cells[HEADER + 2 * i + 1] as number)
    }
    scratch.dirty = (cells[HEADER + 2 * runs - 2] as number) > scratch.newExpiry
  },

  used: ({ used }) => used,

  take: (scratch, units) => add(scratch, scratch.newExpiry, units),

  refund: giveBack,

  reconcile(scratch, units, untilUs) {
    const { partMs, nowMs } = scratch
    const expiry = Math.ceil(msOf(untilUs) / partMs) * partMs
    if (expiry > nowMs) add(scratch, expiry, units)
  },

  renew(scratch, units, untilUs) {
    giveBack(scratch, units, untilUs)
    add(scratch, scratch.newExpiry, units)
  },

  holdMs: ([, holdMs]) => holdMs as number,

  retryAfterMs({ limit, used, expiries, slots, nowMs }, cost) {
    let left = limit - used
    let i = 0
    while (left < cost && i < expiries.length) {
      left += slots[i] as number
      i += 1
    }
    return Math.min(LONGEST_HINT_MS, (expiries[i - 1] ?? nowMs) - nowMs)
  },

  resetAfterUs: ({ expiries, nowMs }) =>
    expiries.length > 0 ? ((expiries.at(-1) as number) - nowMs) * 1_000 : 0,

  write({ expiries, slots }, stored) {
    const runs = expiries.length
    const size = HEADER + 2 * runs
    const cells =
      stored.length >= size ? stored : new Float64Array(HEADER + 2 * Math.max(SMALLEST, 2 * runs))
    cells[RUNS] = runs
    for (let i = 0; i < runs; i += 1) {
      cells[HEADER + 2 * i] = expiries[i] as number
      cells[HEADER + 2 * i + 1] = slots[i] as number
    }
    return cells
  },
} satisfies Kernel<ConcurrencyScratch>

function msOf(untilUs: number): number {
  return Math.floor(untilUs / 1_000) - EPOCH_MS
}

/** Takes slots until an expiry, but at most until the latest possible one. */
function add(scratch: ConcurrencyScratch, until: number, units: number): void {
  const { expiries, slots, newExpiry } = scratch
  const expiry = Math.min(until, newExpiry)
  const added = Math.min(units, MAX_UNITS - scratch.used)
  if (added <= 0) return
  let at = expiries.length
  while (at > 0 && (expiries[at - 1] as number) > expiry) at -= 1
  if (at > 0 && expiries[at - 1] === expiry) slots[at - 1] = (slots[at - 1] as number) + added
  else {
    expiries.splice(at, 0, expiry)
    slots.splice(at, 0, added)
  }
  scratch.used += added
  scratch.dirty = true
}

/** Gives back slots of the run with that expiry, as far as it has any. */
function giveBack(scratch: ConcurrencyScratch, units: number, untilUs: number): void {
  const { expiries, slots } = scratch
  const at = expiries.indexOf(msOf(untilUs))
  if (at < 0) return
  const back = Math.min(units, slots[at] as number)
  slots[at] = (slots[at] as number) - back
  if (slots[at] === 0) {
    expiries.splice(at, 1)
    slots.splice(at, 1)
  }
  scratch.used -= back
  scratch.dirty = true
}
