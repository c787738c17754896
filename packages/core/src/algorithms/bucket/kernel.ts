// Token bucket, GCRA and leaky bucket: one number, the theoretical arrival time (TAT) of the generic cell rate
// algorithm (ITU-T I.371): the instant at which all that was taken has drained.
//
//   unit   eighths of a microsecond ("ticks") since 2025, so that price and times are whole and sums are exact
//   price  ceil(8 * interval in us): what one unit moves the TAT. Rounded up once, in the policy, so the bucket never
//          admits more than it says, and is slow by less than 1 part in 8 * interval. 7 a minute: 68,571,429 ticks
//          instead of 68,571,428.57.
//   span   capacity * price: the TAT of an empty bucket is one span ahead of now
//   left   floor((now + span - max(TAT, now)) / price)
//
//   reach  two full resets of any bucket of the time scale, a bit more than two spans: see policy.ts
//
// Bound: at most capacity + refill * t / every units in any time t.
// Units charged past the limit may put the TAT up to two spans ahead. Anything further than `reach` is a clock that
// stepped back: the state is stamped anew, as an empty bucket (healed), so a step blocks for at most two full resets.
// Another capacity on the same state: the TAT stays, so the share of the bucket that is used is kept.

import { EPOCH_MS } from '../../base/clock.js'
import type { Cells, Check, Kernel } from '../algorithm.js'
import { bucketLua } from '../lua.generated.js'

const TICKS_PER_US = 8
const TICKS_PER_MS = 8_000
/** An `until` is rounded up by less than 2 us, if the price is no whole number of them. */
const ROUNDED = 16

interface BucketCheck extends Check {
  readonly price: number
  readonly capacity: number
  readonly span: number
  readonly reach: number
  now: number
  tat: number
}

/** Numbers: price in ticks, capacity, reach in ticks. */
export const bucket: Kernel<BucketCheck> = {
  id: 'bucket1',
  lua: bucketLua,
  width: 1,

  check: ([price, capacity, reach]) => {
    return { price, capacity, span: capacity * price, reach, now: 0, tat: 0, dirty: false }
  },

  share: ([price, , reach], capacity, instances) => {
    // What is left over in the division may make a part longer to fill than the whole.
    const furthest = 2 * price * instances * capacity
    return [price * instances, capacity, furthest > reach ? furthest : reach]
  },

  read(check, cells, offset, nowUs) {
    const now = ticksAt(nowUs)
    const stored = cells === undefined ? now : (cells[offset] as number)
    check.now = now
    check.tat = stored > now ? stored : now
    check.dirty = false
    if (check.tat - now > check.reach) {
      check.tat = now + check.span
      check.dirty = true
    }
    return available(check)
  },

  take(check, units) {
    moveTo(check, check.tat + units * check.price)
    return available(check)
  },

  refund(check, units, untilUs, chargedUs) {
    let back = units * check.price
    if (chargedUs !== undefined) {
      // The earlier refund may have let it drain sooner than its `until`, but not before it was charged.
      const drained = check.now - ticksAt(chargedUs)
      if (drained > 0) back = drained < back ? back - drained : 0
    }
    if (untilUs !== undefined) {
      const until = ticksAt(untilUs)
      let weighs = (until < check.tat ? until : check.tat) - check.now
      if (weighs < back) {
        if (until < check.tat && check.price % TICKS_PER_US > 0) weighs -= ROUNDED
        back = weighs > 0 ? weighs : 0
      }
    }
    const tat = check.tat - back
    if (back > 0 && check.tat > check.now) {
      check.tat = tat > check.now ? tat : check.now
      check.dirty = true
    }
    return available(check)
  },

  reconcile(check, units, untilUs) {
    const weighs = ticksAt(untilUs) - check.now
    const ticks = units * check.price
    moveTo(check, check.tat + (ticks < weighs ? ticks : weighs))
    return available(check)
  },

  restore(check, _used, untilUs) {
    const until = ticksAt(untilUs)
    // Nearer than that is what `until` was rounded up by.
    if (until - check.tat > ROUNDED) moveTo(check, until)
    return available(check)
  },

  retryAfterMs(check, cost) {
    if (cost > check.capacity) return -1
    const wait = check.tat - check.now + cost * check.price - check.span
    return wait > 0 ? Math.ceil(wait / TICKS_PER_MS) : 0
  },

  resetAfterUs: (check) => Math.ceil((check.tat - check.now) / TICKS_PER_US),

  write(check, cells: Cells, offset) {
    cells[offset] = check.tat
    return cells
  },
}

function ticksAt(us: number): number {
  return (us - EPOCH_MS * 1_000) * TICKS_PER_US
}

/** Puts the TAT later, as far as a charge may. */
function moveTo(check: BucketCheck, tat: number): void {
  const furthest = check.now + 2 * check.span
  const reached = tat < furthest ? tat : furthest
  if (reached <= check.tat) return
  check.tat = reached
  check.dirty = true
}

function available(check: BucketCheck): number {
  const used = check.tat - check.now
  return used < check.span ? Math.floor((check.span - used) / check.price) : 0
}
