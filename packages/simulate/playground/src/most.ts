import type { Arrival } from './traffic.js'

/** The most that passed for one key in any window. */
export interface Most {
  readonly count: number
  /** When the first such window begins; 0 if nothing passed. */
  readonly fromMs: number
  /** The key's place in the list of keys. */
  readonly key: number
}

/**
 * A window excludes its end: no minute holds both 0 s and 60 s.
 * @param passed the arrivals that passed, in the order of time
 */
export function mostInAnyWindow(passed: readonly Arrival[], windowMs: number): Most {
  let most: Most = { count: 0, fromMs: 0, key: 0 }
  const keys = new Set(passed.map(({ key }) => key))
  for (const key of keys) {
    const times = passed.filter((each) => each.key === key).map(({ atMs }) => atMs)
    let first = 0
    times.forEach((atMs, i) => {
      while ((times[first] as number) <= atMs - windowMs) first += 1
      const count = i - first + 1
      if (count > most.count) most = { count, fromMs: times[first] as number, key }
    })
  }
  return most
}
