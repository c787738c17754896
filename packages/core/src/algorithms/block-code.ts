// How a kernel that blocks says what its counts do not: its level, whether it blocks, and whether
// a block was begun. A code is below 1,000, and stands in the microseconds of a reset, where the
// kernel counts whole milliseconds; and above the units that a restore is given.

/** What the store says of a block. */
export interface BlockState {
  /** How many blocks began, as far as they are not forgotten: the next one lasts as long as the
   *  policy's `block` says for one level more. */
  readonly level: number
  /** A block stands: nothing is left until it ends. */
  readonly isBlocked: boolean
  /** This very request began it. */
  readonly hasBegun: boolean
}

const BEGUN = 1
const BLOCKED = 2
const LEVEL = 4
/** Levels saturate here, far above any list of lengths. */
export const MAX_LEVEL = 99
const US_PER_MS = 1_000
/** What a code counts as in seen units; above any limit of such a policy. */
const SEEN = 2 ** 40

/** A reset, in us, that says a state as well. */
export function resetUsOf(
  resetMs: number,
  level: number,
  isBlocked: boolean,
  hasBegun: boolean,
): number {
  return resetMs * US_PER_MS + level * LEVEL + (isBlocked ? BLOCKED : 0) + (hasBegun ? BEGUN : 0)
}

/** What a reset says besides. */
export function blockIn(resetUs: number): BlockState {
  const code = resetUs % US_PER_MS
  return {
    level: Math.floor(code / LEVEL),
    isBlocked: code % LEVEL >= BLOCKED,
    hasBegun: code % BLOCKED === BEGUN,
  }
}

/** The reset alone. */
export function withoutBlock(resetUs: number): number {
  return resetUs - (resetUs % US_PER_MS)
}

/** Units that were seen in use, and the state that was seen with them, to be restored. */
export function seenUnits(
  units: number,
  { level, isBlocked }: Omit<BlockState, 'hasBegun'>,
): number {
  return units + (level * LEVEL + (isBlocked ? BLOCKED : 0)) * SEEN
}

/** The two of them. */
export function seenIn(seen: number): { units: number; level: number; isBlocked: boolean } {
  const code = Math.floor(seen / SEEN)
  return {
    units: seen % SEEN,
    level: Math.floor(code / LEVEL),
    isBlocked: code % LEVEL >= BLOCKED,
  }
}
