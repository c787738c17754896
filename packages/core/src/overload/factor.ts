// The factor of an adaptive policy: down fast, up slowly, and never outside of its bounds. What was
// too much is remembered: after a fall the factor goes back halfway to it, passes it slowly, and
// goes on from there.

/** Factors are whole parts of this, so that policies are few. */
export const STEPS = 32

/** Below that part of what is right, there is room for more. */
const ROOM = 0.9
/** The most that one look takes away. */
const LEAST_AT_ONCE = 0.5
/** How long a step up takes, and near what was too much. */
const CLIMB_MS = 500
const SLOW_CLIMB_MS = 4_000

export interface Steering {
  /** Where the signal alone would have the factor. */
  readonly factor: number
  /**
   * After a look at the load.
   * @param load 1: as much as is right; above: too much
   * @param factor the one that it is about
   * @param nowMs when that was
   */
  next(load: number, factor: number, nowMs: number): void
}

export function steering(min: number, max: number): Steering {
  let factor = max
  /** The factor that was too much. */
  let tooMuch = Number.POSITIVE_INFINITY
  let isFalling = false
  let movedMs = Number.NEGATIVE_INFINITY

  function next(load: number, from: number, nowMs: number): void {
    if (load > 1) {
      if (!isFalling) tooMuch = from
      isFalling = true
      factor = Math.min(from * Math.max(LEAST_AT_ONCE, 1 / load), from - 1 / STEPS)
    } else if (nowMs - movedMs < CLIMB_MS) {
      return
    } else if (isFalling) {
      isFalling = false
      factor = (factor + tooMuch) / 2
    } else if (load < ROOM) {
      const isNear = Math.abs(factor - tooMuch) < 2 / STEPS
      if (isNear && nowMs - movedMs < SLOW_CLIMB_MS) return
      factor += 1 / STEPS
    } else return
    movedMs = nowMs
    factor = inSteps(factor, min, max)
  }

  return {
    get factor() {
      return factor
    },
    next,
  }
}

/** In whole steps, rounded down, but where that leaves the bounds. */
export function inSteps(factor: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.floor(factor * STEPS) / STEPS))
}
