// Lock-out: a count of attempts in a window, and blocks that last longer each time.
//
//   count  attempts since `began`, the time of the first; it ends with the window, or with the
//          block that it began
//   block  while now < end: nothing is left. It begins with the attempt that brings the count to
//          the limit or, if blocks start with the excess, with the refusal of the next attempt.
//          It lasts as `blocks` says for the level; the last length repeats
//   level  how many blocks began; 0 again once `forget` has passed since the last one ended
//
// Bound: the limit, and then nothing until the block ends; somebody who stops one attempt below the
// limit has that many in each window. A refund that leaves less than the limit lifts the block that
// its count began; the level, and the end from which `forget` counts, are then as they were before.
// The time until which a charge counts, or the time of the charge, identifies its count: a refund
// for another count does nothing. No count began a block that was set by hand or restored, so no
// refund lifts it. With another limit or other blocks on the same state, count, block and level
// stay. After a step of the clock, a block that ends more than `forget` ahead begins anew for the
// present level, and a count that begins later than now begins now.
//
// `resetAfterUs` counts whole milliseconds, and carries the block's state in the microseconds below
// one (../block-code.ts). So it is above 0 where there is a level, which must be kept.

import { COUNTED, type Kernel, MAX_UNITS } from '../algorithm.js'
import { MAX_LEVEL, resetUsOf, seenIn } from '../block-code.js'
import { lockoutLua } from '../lua.generated.js'

/** Excess: 1 if the refusal after the limit starts a block, 0 if the attempt that reaches the limit
 *  does. The lengths of blocks follow, in ms. */
type Numbers = readonly [
  limit: number,
  spanMs: number,
  forgetMs: number,
  excess: number,
  ...blocks: number[],
]

type LockoutScratch = ReturnType<typeof prepare>

// Cells: the count, when it began, the end of the last block, the level, and the end of the block
// before, all times in Unix ms.
const COUNT = 0
const BEGAN = 1
const END = 2
const LEVELS = 3
const BEFORE = 4

function prepare([limit, spanMs, forgetMs, excess, ...blocks]: Numbers) {
  return {
    limit,
    spanMs,
    forgetMs,
    isExcess: excess === 1,
    blocks,
    nowMs: 0,
    count: 0,
    beganMs: 0,
    endMs: 0,
    level: 0,
    beforeMs: 0,
    /** A block was begun since the state was read. */
    hasBegun: false,
    dirty: false,
  }
}

export const lockout: Kernel = {
  id: 'lockout1',
  lua: lockoutLua,
  traits: {
    ...COUNTED,
    hasOneEnd: true,
    isAskedLast: true,
    isLeased: false,
    blocks: true,
    takesOne: true,
  },
  width: 5,
  prepare,

  read(scratch, cells, offset, nowUs) {
    const nowMs = Math.floor(nowUs / 1_000)
    scratch.nowMs = nowMs
    scratch.hasBegun = false
    scratch.dirty = false
    if (cells === undefined) {
      scratch.count = 0
      scratch.endMs = 0
      scratch.level = 0
      scratch.beforeMs = 0
    } else {
      scratch.count = cells[offset + COUNT] as number
      scratch.beganMs = cells[offset + BEGAN] as number
      scratch.endMs = cells[offset + END] as number
      scratch.level = cells[offset + LEVELS] as number
      scratch.beforeMs = cells[offset + BEFORE] as number
      catchUp(scratch)
    }
    if (scratch.count === 0) scratch.beganMs = nowMs
    else if (scratch.beganMs > nowMs) {
      scratch.beganMs = nowMs
      scratch.dirty = true
    }
  },

  used: (scratch) =>
    isBlocked(scratch) && scratch.count < scratch.limit ? scratch.limit : scratch.count,

  take,

  // With a limit of 0, no attempt ever reaches it.
  mayBegin: (scratch) => scratch.isExcess && scratch.limit > 0 && !isBlocked(scratch),

  refuse(scratch) {
    const { isExcess, count, limit } = scratch
    if (isExcess && limit > 0 && count >= limit && !isBlocked(scratch)) begin(scratch)
  },

  refund(scratch, units, untilUs, chargedUs) {
    const { count, beganMs, endMs, nowMs } = scratch
    const wasBlocked = isBlocked(scratch)
    const untilMs = Math.floor(untilUs / 1_000)
    // An attempt that began a block counts until the block's end. Where a refund has lifted that
    // block since, only the time of the charge shows that the attempt belongs to the count.
    const chargedMs = chargedUs === undefined ? -1 : Math.floor(chargedUs / 1_000)
    const isOfCount =
      untilUs === Number.POSITIVE_INFINITY ||
      untilMs === endOfCount(scratch) ||
      (wasBlocked && untilMs === endMs) ||
      (chargedMs >= beganMs && chargedMs <= nowMs)
    if (count === 0 || !isOfCount) return
    scratch.count = count > units ? count - units : 0
    scratch.dirty = true
    if (!wasBlocked || scratch.count >= scratch.limit) return
    scratch.level = Math.max(0, scratch.level - 1)
    scratch.endMs = scratch.beforeMs
    scratch.beforeMs = 0
    catchUp(scratch)
    // After a step of the clock, the previous block may be in force again, and this count did not
    // begin it.
    if (isBlocked(scratch)) scratch.count = 0
  },

  reconcile(scratch, units, untilUs) {
    const { nowMs, spanMs, endMs } = scratch
    const untilMs = Math.floor(untilUs / 1_000)
    if (untilMs <= nowMs) return
    if (scratch.count === 0) scratch.beganMs = Math.min(nowMs, Math.max(untilMs - spanMs, endMs))
    take(scratch, units)
  },

  restore(scratch, seen, untilUs, base) {
    const { nowMs, spanMs, forgetMs } = scratch
    const { units, level, isBlocked: wasBlocked } = seenIn(seen)
    const untilMs = Math.floor(untilUs / 1_000)
    if (untilMs - nowMs > (wasBlocked ? forgetMs : spanMs)) return base ?? scratch.count
    // It is not known when the block before a running count ended, only that the count began later.
    const lastMs = wasBlocked ? untilMs : untilMs - spanMs
    if (level > scratch.level && lastMs + forgetMs > nowMs) {
      scratch.level = level
      scratch.dirty = true
      if (!isBlocked(scratch)) {
        scratch.endMs = Math.max(scratch.endMs, Math.min(lastMs, nowMs))
        // Otherwise the count would seem to be from before that block.
        scratch.beganMs = Math.max(scratch.beganMs, scratch.endMs)
      }
    }
    if (wasBlocked) {
      // No block begins while another stands. So if a count began the present block while the seen
      // block should still have stood, the seen one was lost. The seen block is put back, until its
      // own end.
      const isBeside = scratch.count > 0 && untilMs !== scratch.endMs
      if (untilMs > nowMs && (isBeside || untilMs > scratch.endMs)) holdUntil(scratch, untilMs)
    } else if (untilMs > nowMs && !isBlocked(scratch) && lastMs >= scratch.endMs) {
      // A later end means that the count was lost and began anew. It becomes the old one again,
      // with the attempts of both.
      const isLost = scratch.count > 0 && untilMs < endOfCount(scratch)
      const known = base ?? (isLost ? 0 : scratch.count)
      if (units > known) {
        if (isLost || scratch.count === 0) scratch.beganMs = lastMs
        // Only an attempt begins a block.
        scratch.count = Math.min(scratch.count + units - known, MAX_UNITS)
        scratch.dirty = true
      }
      return Math.max(known, units)
    }
    return base ?? scratch.count
  },

  block(scratch, ms) {
    const endMs = scratch.nowMs + Math.min(ms, scratch.forgetMs)
    if (!isBlocked(scratch) || endMs > scratch.endMs) holdUntil(scratch, endMs)
    // A longer block stays, and no refund lifts it any more.
    else if (scratch.count > 0) holdUntil(scratch, scratch.endMs)
  },

  unblock(scratch) {
    if (!isBlocked(scratch)) return
    scratch.count = 0
    scratch.beganMs = scratch.nowMs
    scratch.endMs = scratch.nowMs
    scratch.dirty = true
  },

  longestBlockMs: ([, , forgetMs]) => forgetMs as number,

  // The time until the block ends or, without a block (the limit has been lowered, or blocks start
  // with the excess), until the window ends.
  retryAfterMs: (scratch) =>
    (isBlocked(scratch) ? scratch.endMs : endOfCount(scratch)) - scratch.nowMs,

  resetAfterUs(scratch) {
    const { level, hasBegun } = scratch
    return resetUsOf(resetMs(scratch), level, isBlocked(scratch), hasBegun)
  },

  lifeUs(scratch) {
    const { endMs, spanMs, forgetMs, level, nowMs } = scratch
    // The state is kept for at least a window, so that a count seen before the block is not
    // restored after it. A block set by hand has no level to be forgotten.
    const keptMs = level > 0 ? Math.max(forgetMs, spanMs) : spanMs
    return Math.max(resetMs(scratch), endMs + keptMs - nowMs) * 1_000
  },

  write({ count, beganMs, endMs, level, beforeMs }, cells, offset) {
    cells[offset + COUNT] = count
    cells[offset + BEGAN] = beganMs
    cells[offset + END] = endMs
    cells[offset + LEVELS] = level
    cells[offset + BEFORE] = beforeMs
    return cells
  },
} satisfies Kernel<LockoutScratch>

function isBlocked({ endMs, nowMs }: LockoutScratch): boolean {
  return endMs > nowMs
}

function endOfCount({ beganMs, spanMs }: LockoutScratch): number {
  return beganMs + spanMs
}

function resetMs(scratch: LockoutScratch): number {
  if (isBlocked(scratch)) return scratch.endMs - scratch.nowMs
  return scratch.count > 0 ? endOfCount(scratch) - scratch.nowMs : 0
}

/** Begins a block anew that ends too far ahead, and drops the count and the level that are over. */
function catchUp(scratch: LockoutScratch): void {
  const { nowMs, endMs, forgetMs, beganMs } = scratch
  if (endMs - nowMs > forgetMs) {
    scratch.endMs = nowMs + lengthOf(scratch, scratch.level)
    scratch.dirty = true
  }
  if (isBlocked(scratch)) return
  // The block that the count began is over, or the window is.
  if (beganMs < endMs || endOfCount(scratch) <= nowMs) scratch.count = 0
  if (endMs + forgetMs <= nowMs) scratch.level = 0
}

/** The length of the block that leads to a level. */
function lengthOf({ blocks }: LockoutScratch, level: number): number {
  return blocks[Math.min(Math.max(level, 1), blocks.length) - 1] as number
}

function take(scratch: LockoutScratch, units: number): void {
  const wasBlocked = isBlocked(scratch)
  // A block that no count began has no count.
  if (wasBlocked && scratch.count === 0) return
  scratch.count = Math.min(scratch.count + units, MAX_UNITS)
  scratch.dirty = true
  const { count, limit, isExcess } = scratch
  if (!wasBlocked && limit > 0 && count >= limit + (isExcess ? 1 : 0)) begin(scratch)
}

function begin(scratch: LockoutScratch): void {
  scratch.beforeMs = scratch.endMs
  scratch.level = Math.min(scratch.level + 1, MAX_LEVEL)
  scratch.endMs = scratch.nowMs + lengthOf(scratch, scratch.level)
  scratch.hasBegun = true
  scratch.dirty = true
}

/** Blocks until a time, and forgets the count. */
function holdUntil(scratch: LockoutScratch, endMs: number): void {
  scratch.count = 0
  scratch.beganMs = scratch.nowMs
  scratch.endMs = endMs
  scratch.beforeMs = 0
  scratch.dirty = true
}
