// The limit that each key needs for all of its requests to pass.

import type { Candidates, LimitRange } from './candidates.js'
import { type Replayed, replay } from './replay.js'

/** What the keys need, among the limits of one range. */
export interface Needs {
  readonly range: LimitRange
  /** Keys that are refused at least once at a limit. */
  affectedAt(limit: number): number
  /** Whether a key is refused at a limit that `affectedAt` was asked about. */
  isAffectedAt(key: number, limit: number): boolean
}

/** @param before what they need in the range before, if there is one */
export function needsOf(
  candidates: Candidates,
  range: LimitRange,
  replayed: Replayed,
  before: Needs | undefined,
): Needs {
  return range.isCounted
    ? countedNeeds(candidates, range, replayed, before)
    : bisectedNeeds(candidates, range, replayed)
}

/**
 * By one replay, at the range's largest limit: a key needs the most that it ever has in use. Keys
 * that no limit of the range refuses are left out: those that have no more units in the whole log
 * than its smallest limit, or cannot have more in use.
 */
function countedNeeds(
  candidates: Candidates,
  range: LimitRange,
  replayed: Replayed,
  before: Needs | undefined,
): Needs {
  const { entries, run } = replayed
  const { least, timesBefore = Number.POSITIVE_INFINITY } = range
  const few = entries.isInOrder(run) ? Math.floor(least / timesBefore) : 0
  const isAsked = (key: number): boolean =>
    entries.units.of(key) > least && (before === undefined || before.isAffectedAt(key, few))
  const needs = new Float64Array(replayed.keys.count)
  const policy = candidates.policy(range.most)
  replay(
    replayed,
    policy,
    (key) => needs[key] !== Number.POSITIVE_INFINITY && isAsked(key),
    (key, { allowed, used }) => {
      if (!allowed) needs[key] = Number.POSITIVE_INFINITY
      else if (used > (needs[key] as number)) needs[key] = used
    },
  )
  const sorted = needs.slice().sort()
  return {
    range,
    affectedAt: (limit) => sorted.length - countUpTo(sorted, limit),
    isAffectedAt: (key, limit) => (needs[key] as number) > limit,
  }
}

/** How many of the sorted numbers are not above the limit. */
function countUpTo(sorted: Float64Array, limit: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as number) <= limit) low = middle + 1
    else high = middle
  }
  return low
}

/** By replaying the keys that are still open: a key that is refused at one limit is refused at all
 *  smaller ones; a key that is not is refused at no larger one. */
function bisectedNeeds(candidates: Candidates, range: LimitRange, replayed: Replayed): Needs {
  const { count } = replayed.keys
  /** The largest limit at which a key was refused, and the smallest at which it was not: a bucket
   *  that holds all units of a key refuses none of them. */
  const refusedAt = new Float64Array(count).fill(-1)
  const passedAt = Float64Array.from(refusedAt, (_, key) => replayed.entries.units.of(key))
  const isOpen = (key: number, limit: number): boolean =>
    (refusedAt[key] as number) < limit && (passedAt[key] as number) > limit

  function ask(limit: number): void {
    if (!some(count, (key) => isOpen(key, limit))) return
    const asked = new Uint8Array(count)
    replay(
      replayed,
      candidates.policy(limit),
      (key) => isOpen(key, limit),
      (key, { allowed }) => {
        asked[key] = 1
        if (!allowed) refusedAt[key] = limit
      },
    )
    for (let key = 0; key < count; key += 1)
      if (asked[key] === 1 && (refusedAt[key] as number) < limit) passedAt[key] = limit
  }

  return {
    range,
    affectedAt(limit) {
      ask(limit)
      let affected = 0
      for (let key = 0; key < count; key += 1)
        if ((refusedAt[key] as number) >= limit) affected += 1
      return affected
    },
    isAffectedAt: (key, limit) => (refusedAt[key] as number) >= limit,
  }
}

function some(count: number, is: (number: number) => boolean): boolean {
  for (let i = 0; i < count; i += 1) if (is(i)) return true
  return false
}
