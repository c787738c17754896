// What a simulation says, as plain values that JSON can have.

import type { AffectedKey } from './run/affected.js'
import type { Step } from './run/series.js'
import type { Share } from './run/shares.js'

/** What a simulation found out. */
export interface SimulationReport extends TimelineReport {
  /** One of so many keys was simulated. 1: all. */
  readonly sample: number
  readonly limiters: readonly LimiterReport[]
}

/** How the times of a log are. */
export interface TimelineReport {
  /** Entries that a limiter decided on. */
  readonly entries: number
  /** Entries before `from`, or from `to` on. */
  readonly outsideRange: number
  /** Entries dated so far from the others that they cannot be of this log. */
  readonly outsideYears: number
  /** Times of the first and the last entry, in us since 1970. Undefined: there is none. */
  readonly firstUs: number | undefined
  readonly lastUs: number | undefined
  /** True: the log has whole seconds, so each limiter was run twice, and the truth may lie between
   *  the two, or near them. */
  readonly isCoarse: boolean
  readonly order: OrderReport
}

/** How far the log was out of order. */
export interface OrderReport {
  /** Entries that are held back and sorted. */
  readonly heldBack: number
  /** How often the time went back all the same: such entries were decided at their own time, as a
   *  clock that went back would have it. */
  readonly wentBack: number
  /** The furthest that it went back, in ms. */
  readonly furthestMs: number
}

/** What became of one limiter. */
export interface LimiterReport {
  readonly limiter: string
  /** Entries that it decided on. */
  readonly requests: number
  /** Entries that `skip` left out. */
  readonly skipped: number
  /** Entries of which the log does not say the key. They were not decided on. */
  readonly withoutKey: number
  /** Entries whose cost is no whole number from 0. They were not decided on. */
  readonly withoutCost: number
  /** Entries of keys that are not in the sample. */
  readonly notSampled: number
  /** Different keys. */
  readonly keys: number
  /** One run by the times of the log; where those are whole seconds, two. */
  readonly runs: readonly RunReport[]
}

/** What became of a limiter if the log is taken so. */
export interface RunReport {
  /** When requests are taken to have come:
   *  - `logged`: when the log says
   *  - `start`: all of a second at its start
   *  - `spread`: those of a second evenly over it */
  readonly times: 'logged' | 'start' | 'spread'
  /** Requests that would have been refused. */
  readonly refused: number
  readonly refusedShare: Share
  /** Keys that would have been refused at least once. */
  readonly affected: number
  readonly affectedShare: Share
  /** The ten keys with the most refusals. */
  readonly mostAffected: readonly AffectedKey[]
  readonly policies: readonly PolicyReport[]
  /** Over time, in 240 steps at the most. */
  readonly steps: readonly Step[]
}

/** What became of one policy of a limiter. */
export interface PolicyReport {
  readonly policy: string
  readonly algorithm: string
  readonly limit: number
  /** Units that passed. */
  readonly units: number
  /** Units of requests that this policy refused, as the binding one. */
  readonly refusedUnits: number
  /** Refusals that it bound: of several policies that refuse, the one with the longest wait. */
  readonly refusals: number
  /** Which share of the limiter's refusals that is. */
  readonly shareOfRefusals: number
  /** The most that passed for one key in any window in which the clock did not go back, and what
   *  the policy promises at the most. */
  readonly mostInWindow: MostReport | undefined
}

export interface MostReport {
  readonly units: number
  readonly key: string
  /** The end of that window, in us since 1970. */
  readonly atUs: number
  /** How long it is. Undefined: a period of the calendar. */
  readonly windowMs: number | undefined
  readonly bound: number
  /** What the bound is. */
  readonly says: string
  /** Keys that were not measured to the end, as more requests fell into a window than there is room
   *  for. 0: the maximum is that of all keys. */
  readonly keysLeftOut: number
}
