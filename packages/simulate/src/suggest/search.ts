// The smallest limit that, as all larger ones, refuses no more than is wanted.
//
// "As all larger ones", because refusals are not monotone in the limit everywhere: a limit of 62
// of `slidingWindow` counts in coarser steps than one of 61, and where costs differ, a limit at
// which a large request passes may refuse many small ones after it. A limit that happens to do well
// between two that do not is not what anybody wants to set.

import type { Candidates, LimitRange } from './candidates.js'
import { type Needs, needsOf } from './needs.js'
import { type Replayed, replay } from './replay.js'

/** What refuses how much: as a function of the limit, for limits of one range. */
interface Refusals {
  readonly range: LimitRange
  at(limit: number): number
}

/** What was found for one window, in one run. */
export interface Found {
  /** Undefined: no limit of the algorithm is large enough. */
  readonly limit: number | undefined
  /** False: there are too many limits to try each, so a smaller one might do as well. */
  readonly isSmallest: boolean
  readonly affectedAt: (limit: number) => number
  readonly refusedAt: (limit: number) => number
}

/** Limits that are tried one by one. */
const MOST_TRIES = 1_000

/**
 * @param of what is counted: the keys or the requests that are refused
 * @param most how many of them may be
 */
export function search(
  candidates: Candidates,
  replayed: Replayed,
  of: 'keys' | 'requests',
  most: number,
): Found {
  const needs = candidates.ranges.map((range) => needsOf(candidates, range, replayed))
  const inRange = (limit: number): Needs =>
    needs.find(({ range }) => limit <= range.most) ?? (needs.at(-1) as Needs)
  const affectedAt = (limit: number): number => inRange(limit).affectedAt(limit)
  const refusedAt = remembered((limit) => refusedIn(candidates, replayed, inRange(limit), limit))
  // Each key that is refused has a request that is: where there are too many keys, no replay is
  // needed to know that there are too many requests.
  const boundedAt = (limit: number): number =>
    affectedAt(limit) > most ? Number.POSITIVE_INFINITY : refusedAt(limit)
  const at = of === 'keys' ? affectedAt : boundedAt
  const isMonotone = of === 'keys' || (candidates.isMonotone && replayed.entries.areAllOne)
  const found = isMonotone
    ? searchMonotone(
        needs.map(({ range }) => ({ range, at })),
        most,
      )
    : searchAny(needs, { affectedAt, refusedAt }, most)
  return { ...found, affectedAt, refusedAt }
}

function remembered(answer: (limit: number) => number): (limit: number) => number {
  const known = new Map<number, number>()
  return (limit) => {
    const before = known.get(limit)
    if (before !== undefined) return before
    const now = answer(limit)
    known.set(limit, now)
    return now
  }
}

/** Requests that are refused at a limit: only keys that are refused at all need be replayed. */
function refusedIn(
  candidates: Candidates,
  replayed: Replayed,
  needs: Needs,
  limit: number,
): number {
  if (needs.affectedAt(limit) === 0) return 0
  let refused = 0
  const isAsked = (key: number): boolean => needs.isAffectedAt(key, limit)
  replay(replayed, candidates.policy(limit), isAsked, (_, { allowed }) => {
    if (!allowed) refused += 1
  })
  return refused
}

type Limit = Pick<Found, 'limit' | 'isSmallest'>

/** Where a larger limit of a range never refuses more: from the last range down. */
function searchMonotone(ranges: readonly Refusals[], most: number): Limit {
  let limit: number | undefined
  for (const { range, at } of [...ranges].reverse()) {
    const found = smallestIn(range, at, most)
    if (found === undefined) break
    limit = found
    // A smaller range holds smaller limits only if this one does from its beginning on.
    if (found > range.least) break
  }
  return { limit, isSmallest: true }
}

/** The smallest limit of a range at which there are at most so many; undefined: there is none. */
function smallestIn(
  { least, most }: LimitRange,
  at: (limit: number) => number,
  allowed: number,
): number | undefined {
  // Doubled, not halved: large limits of a bucket are replayed with the most keys.
  let low = least
  let high = least
  for (let step = 1; at(high) > allowed; step *= 2) {
    if (high === most) return undefined
    low = high + 1
    high = Math.min(most, high + step)
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (at(middle) <= allowed) high = middle
    else low = middle + 1
  }
  return high
}

/** Where a larger limit may refuse more requests: bounds first, and then limit by limit. */
function searchAny(
  needs: readonly Needs[],
  { affectedAt, refusedAt }: Pick<Found, 'affectedAt' | 'refusedAt'>,
  most: number,
): Limit {
  // At and above it nobody is refused.
  const enough = searchMonotone(
    needs.map(({ range }) => ({ range, at: affectedAt })),
    0,
  ).limit
  if (enough === undefined) return { limit: undefined, isSmallest: true }
  // Below it more keys are refused, each at least once, than requests may be.
  const least =
    searchMonotone(
      needs.map(({ range }) => ({ range, at: affectedAt })),
      most,
    ).limit ?? 0
  let limit = enough
  for (let tries = 0; limit > least; tries += 1) {
    if (refusedAt(limit - 1) > most) return { limit, isSmallest: true }
    limit -= 1
    if (tries < MOST_TRIES) continue
    const range = { least, most: limit, isCounted: true }
    return { limit: smallestIn(range, refusedAt, most), isSmallest: false }
  }
  return { limit, isSmallest: true }
}
