// A plateau: limits that all affect equally many keys, above what ordinary clients need and below
// what the others take.

import type { LimitRange } from './candidates.js'

export interface Plateau extends Flat {
  /** Which these keys are: at most five, those with the most units. */
  readonly keys: readonly string[]
}

interface Flat {
  /** Keys that each of the limits refuses at least once. */
  readonly affected: number
  /** The smallest of the limits. */
  readonly from: number
  /** The largest of the limits. */
  readonly to: number
}

/** One key in this many is affected at most: more are not the exception. */
const ONE_IN = 10
/** The limit that follows a plateau is at least this many times its smallest one. */
const WIDE = 3

/**
 * All wide plateaus, the smallest limits first.
 * @param affectedAt does not increase with the limit within a range
 */
export function plateausOf(
  ranges: readonly LimitRange[],
  affectedAt: (limit: number) => number,
  keys: number,
): readonly Flat[] {
  const all = [...plateausIn(ranges, affectedAt, Math.floor(keys / ONE_IN))]
  return all.filter(({ from, to }) => to + 1 >= WIDE * from)
}

/** The plateaus with a power of 2 among their limits, which all wide ones have. */
function* plateausIn(
  ranges: readonly LimitRange[],
  affectedAt: (limit: number) => number,
  most: number,
): Generator<Flat> {
  let plateau: Flat | undefined
  let before = 0
  for (const limit of probesIn(ranges)) {
    const affected = affectedAt(limit)
    if (plateau?.affected === affected) plateau = { ...plateau, to: limit }
    else {
      const holds = (count: number) => (other: number) => affectedAt(other) === count
      if (plateau !== undefined)
        yield { ...plateau, to: furthest(plateau.to, limit, holds(plateau.affected)) }
      plateau =
        affected > most || affected === 0
          ? undefined
          : { affected, from: furthest(limit, before, holds(affected)), to: limit }
    }
    if (affected === 0) return
    before = limit
  }
}

/** The powers of 2 and the ends of the ranges, the smallest first. */
function* probesIn(ranges: readonly LimitRange[]): Generator<number> {
  for (const { least, most } of ranges) {
    if (least > 0) yield least
    for (let power = 1; power < most; power *= 2) if (power > least) yield power
    yield most
  }
}

/** The limit nearest to `outside` for which something holds, as it does for `inside`. */
function furthest(inside: number, outside: number, holds: (limit: number) => boolean): number {
  let [known, wrong] = [inside, outside]
  while (Math.abs(known - wrong) > 1) {
    const middle = Math.floor((known + wrong) / 2)
    if (holds(middle)) known = middle
    else wrong = middle
  }
  return known
}
