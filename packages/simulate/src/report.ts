// A simulation's report: plain values that JSON can represent.

import type { AffectedKey } from './run/affected.js'
import type { Step } from './run/series.js'
import type { Share } from './run/shares.js'

/** What a simulation found out. */
export interface SimulationReport extends TimelineReport {
  /** One in this many keys was simulated. 1: all. */
  readonly sample: number
  readonly limiters: readonly LimiterReport[]
}

/** What is known about the log's times. */
export interface TimelineReport {
  /** Entries that a limiter decided on. */
  readonly entries: number
  /** Entries that are dated before `fromUs`, or at or after `toUs`. */
  readonly outsideRange: number
  /** Entries dated too many years from the others to belong to this log. They were left out. */
  readonly outsideYears: number
  /** Times of the first and the last entry, in us since 1970. Undefined: there are no entries. */
  readonly firstUs: number | undefined
  readonly lastUs: number | undefined
  /** True: the log has whole seconds, so each limiter was run twice, and the truth lies between the
   *  two results, or near them. */
  readonly isCoarse: boolean
  readonly order: OrderReport
}

/** How far the log was out of order. */
export interface OrderReport {
  /** How many entries are held back at a time, to be sorted. */
  readonly heldBack: number
  /** How often the time went back in spite of the sorting. Such entries were decided on at their
   *  own times, as if the clock had been set back. */
  readonly wentBack: number
  /** The furthest that the time went back, in ms. */
  readonly furthestMs: number
}

/** The results of one limiter. */
export interface LimiterReport {
  readonly limiter: string
  /** Entries that the limiter decided on. */
  readonly requests: number
  /** Entries that `skip` left out. */
  readonly skipped: number
  /** Entries whose key the log does not say, or whose key has over 8,192 characters, which limiters
   *  refuse. They were not decided on. */
  readonly withoutKey: number
  /** Entries whose cost is not a whole number, 0 or more. They were not decided on. */
  readonly withoutCost: number
  /** Entries whose keys are not in the sample. They were not decided on. */
  readonly notSampled: number
  /** Different keys. */
  readonly keys: number
  /** One run, by the log's times; two, if those are whole seconds. */
  readonly runs: readonly RunReport[]
}

/** A limiter's results for one reading of the log's times. */
export interface RunReport {
  /** When requests are assumed to have arrived:
   *  - `logged`: when the log says
   *  - `start`: those of one second all at its start
   *  - `spread`: those of one second spread evenly over it */
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
  /** Requests over time, in at most 240 steps. */
  readonly steps: readonly Step[]
}

/** The results of one policy of a limiter. */
export interface PolicyReport {
  readonly policy: string
  readonly algorithm: string
  readonly limit: number
  /** Units that passed. */
  readonly units: number
  /** Units of requests that this policy refused, as the binding one. */
  readonly refusedUnits: number
  /** Refusals in which this policy was the binding one: of those that refused, the one with the
   *  longest wait. */
  readonly refusals: number
  /** `refusals` as a share of the limiter's refusals, 0 to 1. */
  readonly shareOfRefusals: number
  /** The most that passed for one key in any window in which the clock did not go back, beside the
   *  most that the policy promises to let pass. */
  readonly mostInWindow: MostReport | undefined
}

export interface MostReport {
  readonly units: number
  readonly key: string
  /** When that window ends, in us since 1970. */
  readonly atUs: number
  /** The window's length. Undefined: it is a period of the calendar. */
  readonly windowMs: number | undefined
  readonly bound: number
  /** Where the bound holds, and why it is as large as it is. */
  readonly says: string
  /** Keys that were not measured to the end, because more requests fell into a window than there is
   *  room for. 0: the maximum covers all keys. */
  readonly keysLeftOut: number
}
