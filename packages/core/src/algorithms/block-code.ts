// How a kernel that blocks reports what its counts do not: its level, whether it blocks, and
// whether a block has just begun. A code is below 1,000. It stands in the microseconds of a reset,
// as the kernel counts whole milliseconds, and above the units that a restore is given.

/** What the store says about a block. */
export interface BlockState {
  /** How many blocks have begun and are not forgotten. The next block lasts as long as the policy's
   *  `block` says for one level more. */
  readonly level: number
  /** A block is in force: nothing is left until it ends. */
  readonly isBlocked: boolean
  /** This request began the block. */
  readonly hasBegun: boolean
}

const BEGUN = 1
const BLOCKED = 2
const LEVEL = 4
/** Levels saturate here, far above any list of lengths. */
export const MAX_LEVEL = 99
const US_PER_MS = 1_000
/** One step of a code in seen units: above any limit of a policy that blocks. */
const SEEN = 2 ** 40

/** A reset, in us, that carries the state as well. */
export function resetUsOf(
  resetMs: number,
  level: number,
  isBlocked: boolean,
  hasBegun: boolean,
): number {
  return resetMs * US_PER_MS + level * LEVEL + (isBlocked ? BLOCKED : 0) + (hasBegun ? BEGUN : 0)
}

/** The state that a reset carries. */
export function blockIn(resetUs: number): BlockState {
  const code = resetUs % US_PER_MS
  return {
    level: Math.floor(code / LEVEL),
    isBlocked: code % LEVEL >= BLOCKED,
    hasBegun: code % BLOCKED === BEGUN,
  }
}

/** The reset without the state. */
export function withoutBlock(resetUs: number): number {
  return resetUs - (resetUs % US_PER_MS)
}

/** Units that were seen in use and the state seen with them, as one number, to be restored. */
export function seenUnits(
  units: number,
  { level, isBlocked }: Omit<BlockState, 'hasBegun'>,
): number {
  return units + (level * LEVEL + (isBlocked ? BLOCKED : 0)) * SEEN
}

/** The units and the state in such a number. */
export function seenIn(seen: number): { units: number; level: number; isBlocked: boolean } {
  const code = Math.floor(seen / SEEN)
  return {
    units: seen % SEEN,
    level: Math.floor(code / LEVEL),
    isBlocked: code % LEVEL >= BLOCKED,
  }
}
