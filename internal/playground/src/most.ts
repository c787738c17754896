import type { Arrival } from './traffic.js'

/** The most that passed in any window of one key. */
export interface Most {
  readonly count: number
  /** When the first of such windows begins; 0 where nothing passed. */
  readonly fromMs: number
  /** Whose it is, as a place in the keys. */
  readonly key: number
}

/**
 * A window excludes its end: what passes at 0 s and at 60 s is in no minute together.
 * @param passed in the order of time
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
