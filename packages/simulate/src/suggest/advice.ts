// The one limit to set, of all that a search has found.

import type { Plateau } from './plateau.js'

/** The limit to set, with a margin, as a round number. */
export interface Advice {
  readonly windowMs: number
  /** What the log needs, and no more than `affect` is refused at. */
  readonly needed: number
  /** The limit to set unless the keys of `abusers` abuse you. */
  readonly limit: number
  /** The limit to set if a few keys abuse you, and which limits refuse these alone. Undefined: no
   *  such limits were found, or `limit` is one. */
  readonly abusers: (Plateau & { readonly limit: number }) | undefined
  /** The limit to set if only some of these keys abuse you, where limits of a shorter window refuse
   *  these alone. */
  readonly fewer: (Plateau & { readonly limit: number; readonly windowMs: number }) | undefined
}

/** Next week's log will differ: half as much again. */
const MARGIN = 1.5
/** Tenths of a power of ten. */
const ROUND = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80]

/** A limit with a margin, as a round number that is not above `most`. */
export function withMargin(needed: number, most: number): number {
  let below = needed
  for (let power = 1; power <= most; power *= 10) {
    for (const round of ROUND.map((tenths) => (tenths * power) / 10)) {
      if (!Number.isInteger(round) || round < needed) continue
      if (round > most) return below
      if (round >= MARGIN * needed) return round
      below = round
    }
  }
  return below
}

const MINUTE_MS = 60_000

/** The result of a search for one window and one reading of the log's times. */
interface Searched {
  readonly windowMs: number
  readonly limit: number | undefined
  readonly plateaus: readonly Plateau[]
}

/**
 * Advises the window in which a few keys stand out furthest from the others; if in none, that which
 * is nearest to a minute. Of a window that is longer than the log, nobody has seen a whole one.
 * @param spanMs how long the log is
 * @param mostIn the largest limit that the algorithm has for a window
 */
export function adviceOf(
  windows: readonly Searched[],
  spanMs: number,
  mostIn: (windowMs: number) => number,
): Advice | undefined {
  const strictest = new Map<number, Found>()
  const shortestMs = Math.min(...windows.map(({ windowMs }) => windowMs))
  for (const { windowMs, limit: needed, plateaus } of windows) {
    if (windowMs > Math.max(spanMs, shortestMs)) continue
    if (needed === undefined || needed < (strictest.get(windowMs)?.needed ?? 0)) continue
    const [widest] = [...plateaus].sort((one, other) => widthOf(other) - widthOf(one))
    strictest.set(windowMs, { windowMs, needed, widest, plateaus })
  }
  const [best] = [...strictest.values()].sort(
    (one, other) =>
      widthOf(other.widest) - widthOf(one.widest) || fromMinute(one) - fromMinute(other),
  )
  if (best === undefined) return undefined
  const { windowMs, needed, widest } = best
  const isApart = widest !== undefined && widest.to < needed
  const abusers = isApart ? { ...widest, limit: withMargin(widest.from, widest.to) } : undefined
  const fewer = abusers && fewerOf(abusers, windowMs, [...strictest.values()])
  return { windowMs, needed, limit: withMargin(needed, mostIn(windowMs)), abusers, fewer }
}

/** The fewest keys, all among those of a plateau, that a shorter window singles out: one of these
 *  may make many requests a day and still be no abuser. */
function fewerOf(
  { affected, keys }: Plateau,
  beforeMs: number,
  windows: readonly Found[],
): Advice['fewer'] {
  const all = windows.flatMap(({ windowMs, plateaus }) =>
    windowMs < beforeMs ? plateaus.map((one) => ({ ...one, windowMs })) : [],
  )
  const [fewest] = all
    .filter((one) => one.affected < affected && one.keys.every((key) => keys.includes(key)))
    .sort((one, other) => one.affected - other.affected || widthOf(other) - widthOf(one))
  return fewest && { ...fewest, limit: withMargin(fewest.from, fewest.to) }
}

interface Found {
  readonly plateaus: readonly Plateau[]
  readonly windowMs: number
  readonly needed: number
  readonly widest: Plateau | undefined
}

function widthOf(plateau: Plateau | undefined): number {
  return plateau === undefined ? 0 : (plateau.to + 1) / plateau.from
}

function fromMinute({ windowMs }: Found): number {
  return Math.abs(Math.log(windowMs / MINUTE_MS))
}
