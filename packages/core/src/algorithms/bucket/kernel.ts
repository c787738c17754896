// Token bucket, GCRA and leaky bucket: one number, the theoretical arrival time (TAT) of the
// generic cell rate algorithm (ITU-T I.371): the instant at which all that was taken has drained.
//
//   unit   eighths of a microsecond ("ticks") since 2025, so that price and times are whole and
//          sums are exact
//   price  ceil(8 * interval in us): how far one unit moves the TAT. Rounded up once, in the
//          policy, so the bucket never admits more than its rate, and is slow by less than 1 part
//          in 8 * interval. 7 a minute: 68,571,429 ticks instead of 68,571,428.57.
//   span   capacity * price: the TAT of an empty bucket is one span ahead of now
//   left   floor((now + span - max(TAT, now)) / price)
//   wait   how long a turn may be reserved ahead, at least a span
//   turn   of a reservation: TAT - span, which is when its last unit comes
//   reach  the longest span plus wait of any bucket with this time scale
//
// Bound: at most capacity + refill * t / every units in any time t, each of them at its turn or
// later. Reservations, and penalties past the limit, put the TAT up to a span and the wait ahead:
// two spans where no wait is given. A TAT further ahead than `reach` means that the clock stepped
// back: the state is stamped anew, as an empty bucket (healed), so a step blocks for at most
// `reach`. With another capacity on the same state the TAT stays, so the used share of the bucket
// is kept.

import { EPOCH_MS } from '../../base/clock.js'
import { COUNTED, type Kernel } from '../algorithm.js'
import { bucketLua } from '../lua.generated.js'

const TICKS_PER_US = 8
const TICKS_PER_MS = 8_000
/** An `until` is rounded up by less than 2 us, unless the price is a whole number of us. */
const ROUNDED = 16

type BucketScratch = ReturnType<typeof prepare>

/**
 * Buckets with equal time scales and waits may differ by rounding: by half a ms of the time scale,
 * and by up to 1 % of the price. Both count twice in the reach.
 */
const ROUNDED_PART = 50
const ROUNDED_TICKS = 24_240

/** Capacity, ticks in which all of it comes back, wait in ticks. */
export type BucketNumbers = readonly [capacity: number, full: number, wait: number]

function prepare([limit, full, wait]: BucketNumbers) {
  const price = limit > 0 ? Math.ceil(full / limit) : 1
  const span = limit * price
  const reach = span + wait + span / ROUNDED_PART + ROUNDED_TICKS
  return { price, limit, span, wait, reach, now: 0, tat: 0, dirty: false }
}

export const bucket: Kernel = {
  id: 'bucket1',
  lua: bucketLua,
  traits: { ...COUNTED, drains: true },
  width: 1,
  prepare,

  read(scratch, cells, offset, nowUs) {
    const now = ticksAt(nowUs)
    const stored = cells === undefined ? now : (cells[offset] as number)
    scratch.now = now
    scratch.tat = stored > now ? stored : now
    scratch.dirty = scratch.tat - now > scratch.reach
    if (scratch.dirty) scratch.tat = now + scratch.span
  },

  used: ({ tat, now, price }) => Math.ceil((tat - now) / price),

  within({ tat, now, price, span, wait }, ms) {
    const ticks = ms * TICKS_PER_MS
    return Math.floor((span + (ticks < wait ? ticks : wait) - (tat - now)) / price)
  },

  take: (scratch, units) => moveTo(scratch, scratch.tat + units * scratch.price),

  ahead(scratch, untilUs) {
    // No unit drains before it may be spent.
    scratch.tat = Math.max(scratch.tat, ticksAt(untilUs))
  },

  refund(scratch, units, untilUs, chargedUs) {
    let back = units * scratch.price
    if (chargedUs !== undefined) {
      // The earlier refund may have let the units drain sooner than their `until`, but not before
      // they were charged.
      const drained = scratch.now - ticksAt(chargedUs)
      if (drained > 0) back = drained < back ? back - drained : 0
    }
    const until = ticksAt(untilUs)
    let counts = (until < scratch.tat ? until : scratch.tat) - scratch.now
    if (counts < back) {
      if (until < scratch.tat && scratch.price % TICKS_PER_US > 0) counts -= ROUNDED
      back = counts > 0 ? counts : 0
    }
    if (back > 0 && scratch.tat > scratch.now) {
      scratch.tat = Math.max(scratch.tat - back, scratch.now)
      scratch.dirty = true
    }
  },

  cancel(scratch, units, untilUs) {
    // Units that were taken or reserved later build on these.
    if (ticksAt(untilUs) < scratch.tat || scratch.tat <= scratch.now) return
    scratch.tat = Math.max(scratch.tat - units * scratch.price, scratch.now)
    scratch.dirty = true
  },

  reconcile(scratch, units, untilUs) {
    const ticks = Math.min(units * scratch.price, ticksAt(untilUs) - scratch.now)
    moveTo(scratch, scratch.tat + ticks)
  },

  restore(scratch, seen, untilUs, base) {
    const known = Math.max(base ?? scratch.tat, scratch.now)
    const missing = seen > 0 ? ticksAt(untilUs) - known : 0
    // A smaller difference is the rounding of `until`.
    if (missing <= ROUNDED) return known
    moveTo(scratch, scratch.tat + missing)
    return known + missing
  },

  retryAfterMs: ({ tat, now, price, span }, cost) =>
    Math.ceil((tat - now + cost * price - span) / TICKS_PER_MS),

  resetAfterUs: ({ tat, now }) => Math.ceil((tat - now) / TICKS_PER_US),

  write(scratch, cells, offset) {
    cells[offset] = scratch.tat
    return cells
  },
} satisfies Kernel<BucketScratch>

function ticksAt(us: number): number {
  return (us - EPOCH_MS * 1_000) * TICKS_PER_US
}

/** Moves the TAT to a later instant, at most a span and the wait ahead of now. */
function moveTo(scratch: BucketScratch, tat: number): void {
  const furthest = scratch.now + scratch.span + scratch.wait
  const reached = tat < furthest ? tat : furthest
  if (reached <= scratch.tat) return
  scratch.tat = reached
  scratch.dirty = true
}
