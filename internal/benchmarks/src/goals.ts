// Goals as data beside the scenario that measures them, and whether they are met.

import { bestPeer, figure, multiple, type Table } from './table.js'

export interface Goal {
  /** The id of the table. */
  readonly table: string
  readonly metric: string
  readonly what: string
  /** The subjects that must meet the goal, every one of them. */
  readonly of: readonly string[]
  /** The goal is a multiple of this subject's figure, or of the best peer's; if undefined, an
   *  absolute value. */
  readonly per?: string
  /** The limiter to compare with; undefined if none was measured. */
  readonly peer: string | undefined
  /** The least that the same answer costs; undefined if nothing of the kind was measured. */
  readonly floor: string | undefined
  readonly atMost?: number
  readonly atLeast?: number
}

export const BEST_PEER = 'the best peer'

export type Verdict = 'met' | 'missed'

/** The figure of a peer or a floor, in the goal's unit. */
export interface Reference {
  readonly name: string
  readonly value: number
}

export interface Judgement {
  readonly goal: Goal
  /** The subject whose figure is the unit; the best peer is named. */
  readonly per: string | undefined
  readonly values: readonly {
    readonly subject: string
    readonly value: number
    readonly verdict: Verdict
  }[]
  readonly peer: Reference | undefined
  readonly floor: Reference | undefined
  /** Undefined if it was not measured in this run. */
  readonly verdict: Verdict | undefined
}

export function judge(goal: Goal, tables: readonly Table[]): Judgement {
  const table = tables.find(({ id }) => id === goal.table)
  const metric = table?.metrics.find(({ id }) => id === goal.metric)
  if (table === undefined || metric === undefined) {
    throw new Error(`a goal asks for ${goal.metric} of ${goal.table}, which nothing measures`)
  }
  const best = bestPeer(table, metric)?.subject
  const subjectOf = (name: string | undefined) => (name === BEST_PEER ? best : name)
  const base = subjectOf(goal.per)
  const judged = (subject: string): number | undefined => {
    if (goal.per === undefined) return figure(table, subject, metric.id)
    return base === undefined ? undefined : multiple(table, subject, base, metric.id)
  }
  const reference = (asked: string | undefined): Reference | undefined => {
    const name = subjectOf(asked)
    const value = name === undefined ? undefined : judged(name)
    return name === undefined || value === undefined ? undefined : { name, value }
  }
  const values = goal.of.flatMap((subject) => {
    const value = judged(subject)
    return value === undefined ? [] : [{ subject, value, verdict: verdictOf(goal, value) }]
  })
  const isMet = values.every(({ verdict }) => verdict === 'met')
  return {
    goal,
    per: goal.per === BEST_PEER && best ? `${BEST_PEER}, ${best}` : goal.per,
    values,
    peer: reference(goal.peer),
    floor: reference(goal.floor),
    verdict: values.length < goal.of.length ? undefined : isMet ? 'met' : 'missed',
  }
}

function verdictOf({ atMost = Infinity, atLeast = -Infinity }: Goal, value: number): Verdict {
  return value <= atMost && value >= atLeast ? 'met' : 'missed'
}

/** The unit of a bound, in words. */
export function boundOf({ atMost, atLeast }: Pick<Goal, 'atMost' | 'atLeast'>): string {
  return atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`
}
