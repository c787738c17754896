// The factor of an adaptive policy: down fast, up slowly, and never outside of its bounds.

/** Factors are whole parts of this, so that policies are few. */
export const STEPS = 32

/** Below that part of what is right, there is room for more. */
const ROOM = 0.9
/** The most that one look takes away. */
const LEAST_AT_ONCE = 0.5

/**
 * The factor after a look at the load.
 * @param load 1: as much as is right; above: too much
 */
export function steered(factor: number, load: number, min: number, max: number): number {
  if (load > 1) {
    const lower = Math.min(factor * Math.max(LEAST_AT_ONCE, 1 / load), factor - 1 / STEPS)
    return inSteps(lower, min, max)
  }
  return load < ROOM ? inSteps(factor + 1 / STEPS, min, max) : factor
}

/** In whole steps, rounded down, but where that leaves the bounds. */
export function inSteps(factor: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.floor(factor * STEPS) / STEPS))
}
