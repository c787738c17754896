// The smallest limit that, like every larger one, refuses no more than the user accepts.
//
// "Like every larger one", because refusals are not monotone in the limit everywhere:
// `slidingWindow` counts in coarser steps with a limit of 62 than with 61; and where costs differ,
// a limit that lets a large request pass may refuse many small ones after it. Nobody wants to set a
// limit that happens to do well between two that do not.

import type { Candidates, LimitRange } from './candidates.js'
import { type Needs, needsOf } from './needs.js'
import { type Replayed, replay } from './replay.js'

/** How much is refused, as a function of the limit, for the limits of one range. */
interface Refusals {
  readonly range: LimitRange
  at(limit: number): number
}

/** The search's result for one window, in one run. */
export interface Found {
  /** Undefined: no limit of the algorithm is large enough. */
  readonly limit: number | undefined
  /** False: there are too many limits to try each, so a smaller one might do as well. */
  readonly isSmallest: boolean
  readonly affectedAt: (limit: number) => number
  /** Whether a key is refused at a limit that `affectedAt` was asked about. */
  readonly isAffectedAt: (key: number, limit: number) => boolean
  readonly refusedAt: (limit: number) => number
}

/** The most limits to try one by one. */
const MOST_TRIES = 1_000

/**
 * @param of whether to count the refused keys or the refused requests
 * @param most how many of them there may be
 */
export function search(
  candidates: Candidates,
  replayed: Replayed,
  of: 'keys' | 'requests',
  most: number,
): Found {
  const needs: Needs[] = []
  for (const range of candidates.ranges)
    needs.push(needsOf(candidates, range, replayed, needs.at(-1)))
  const inRange = (limit: number): Needs =>
    needs.find(({ range }) => limit <= range.most) ?? (needs.at(-1) as Needs)
  const affectedAt = (limit: number): number => inRange(limit).affectedAt(limit)
  const refusedAt = remembered((limit) => refusedIn(candidates, replayed, inRange(limit), limit))
  // Each refused key has at least one refused request: if there are too many keys, there are too
  // many requests, and no replay is needed to know.
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
  const isAffectedAt: Found['isAffectedAt'] = (key, limit) =>
    inRange(limit).isAffectedAt(key, limit)
  return { ...found, affectedAt, isAffectedAt, refusedAt }
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

/** Requests that a limit refuses. Replays only the keys that it refuses at all. */
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

/** For when a larger limit in a range never refuses more. Searches from the last range down. */
function searchMonotone(ranges: readonly Refusals[], most: number): Limit {
  let limit: number | undefined
  for (const { range, at } of [...ranges].reverse()) {
    const found = smallestIn(range, at, most)
    if (found === undefined) break
    limit = found
    // The next range down has an answer only if every limit of this one will do.
    if (found > range.least) break
  }
  return { limit, isSmallest: true }
}

/** The smallest limit of a range at which at most `allowed` are refused; undefined: none. */
function smallestIn(
  { least, most }: LimitRange,
  at: (limit: number) => number,
  allowed: number,
): number | undefined {
  // Steps double upwards from the least, because replays at a bucket's large limits take the most
  // keys.
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

/** For when a larger limit may refuse more requests: bounds first, then limit by limit. */
function searchAny(
  needs: readonly Needs[],
  { affectedAt, refusedAt }: Pick<Found, 'affectedAt' | 'refusedAt'>,
  most: number,
): Limit {
  // At this limit and above, nobody is refused.
  const enough = searchMonotone(
    needs.map(({ range }) => ({ range, at: affectedAt })),
    0,
  ).limit
  if (enough === undefined) return { limit: undefined, isSmallest: true }
  // Below this limit, more keys are refused, each at least once, than requests may be.
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
