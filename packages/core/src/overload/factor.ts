// The factor of an adaptive policy: it falls fast, rises slowly and stays within its bounds. The
// value that was too much is remembered: after a fall the factor goes back halfway to that value,
// passes it slowly, and goes on from there.

/** Factors are multiples of 1 / STEPS, so that there are few policies. */
export const STEPS = 32

/** Below this load there is room for more. */
const ROOM = 0.9
/** One look multiplies the factor by at least this. */
const LEAST_AT_ONCE = 0.5
/** How long a step up takes, and how long near the value that was too much. */
const CLIMB_MS = 500
const SLOW_CLIMB_MS = 4_000

/**
 * The factor by the signal alone, after a look at the load.
 * @param load 1: the right load; above 1: too much
 * @param from the factor under which the load was measured
 * @param nowMs when it was measured
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

/** Rounds a factor down to a whole step, but keeps it within the bounds. */
export function inSteps(factor: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.floor(factor * STEPS) / STEPS))
}
