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

/**
 * Where the signal alone would have the factor, after a look at the load.
 * @param load 1: as much as is right; above: too much
 * @param from the factor that it is about
 * @param nowMs when that was
 */
type Steering = (load: number, from: number, nowMs: number) => number

export function steering(min: number, max: number): Steering {
  let factor = max
  /** The factor that was too much. */
  let tooMuch = Number.POSITIVE_INFINITY
  let isFalling = false
  let movedMs = Number.NEGATIVE_INFINITY

  return (load, from, nowMs) => {
    if (load > 1) {
      if (!isFalling) tooMuch = from
      isFalling = true
      factor = Math.min(from * Math.max(LEAST_AT_ONCE, 1 / load), from - 1 / STEPS)
    } else if (nowMs - movedMs < CLIMB_MS) {
      return factor
    } else if (isFalling) {
      isFalling = false
      factor = (factor + tooMuch) / 2
    } else if (load < ROOM) {
      const isNear = Math.abs(factor - tooMuch) < 2 / STEPS
      if (isNear && nowMs - movedMs < SLOW_CLIMB_MS) return factor
      factor += 1 / STEPS
    } else return factor
    movedMs = nowMs
    factor = inSteps(factor, min, max)
    return factor
  }
}

/** In whole steps, rounded down, but where that leaves the bounds. */
export function inSteps(factor: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.floor(factor * STEPS) / STEPS))
}
