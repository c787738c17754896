// Goals as data beside the scenario that measures them, and whether they are met.

import { bestPeer, figure, type Metric, type Table } from './table.js'

export interface Goal {
  /** Its place in the list that was agreed on before anything was made faster. */
  readonly number: number
  /** Id of the table. */
  readonly table: string
  readonly metric: string
  readonly what: string
  /** Who must meet it: every one of them. */
  readonly of: readonly string[]
  /** Judged as a multiple of this subject's figure, or of the best peer's; undefined: the figure
   *  itself. */
  readonly per?: string
  readonly atMost?: number
  readonly atLeast?: number
  /** What one hopes for beyond the bound. */
  readonly aim?: number
}

export const BEST_PEER = 'the best peer'

export interface Judgement {
  readonly goal: Goal
  /** What the figures were divided by, by name; the best peer is named. */
  readonly per: string | undefined
  readonly values: readonly {
    readonly subject: string
    readonly value: number
    readonly met: boolean
  }[]
  /** Undefined: not measured in this run. */
  readonly met: boolean | undefined
}

export function judge(goal: Goal, tables: readonly Table[]): Judgement {
  const table = tables.find(({ id }) => id === goal.table)
  const metric = table?.metrics.find(({ id }) => id === goal.metric)
  if (table === undefined || metric === undefined) {
    throw new Error(`a goal asks for ${goal.metric} of ${goal.table}, which nothing measures`)
  }
  const per = goal.per === BEST_PEER ? bestPeer(table, metric)?.subject : goal.per
  const divisor =
    goal.per === undefined ? 1 : per === undefined ? undefined : figure(table, per, metric.id)
  const values: { subject: string; value: number; met: boolean }[] = []
  for (const subject of goal.of) {
    const own = figure(table, subject, metric.id)
    if (own === undefined || divisor === undefined) continue
    const value = own / divisor
    values.push({ subject, value, met: holds(goal, value) })
  }
  const met = values.length === goal.of.length ? values.every((each) => each.met) : undefined
  return { goal, per: goal.per === BEST_PEER && per ? `${BEST_PEER}, ${per}` : per, values, met }
}

function holds(
  { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }: Goal,
  value: number,
) {
  return value <= atMost && value >= atLeast
}

/** What a bound is a multiple of, in words. */
export function boundOf({ atMost, atLeast, aim }: Goal): string {
  const bound = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`
  return aim === undefined ? bound : `${bound} (aim ${aim})`
}

/** How far a metric's ratio may be from what was expected before a reader is told. */
const TOLERANCE = 0.25

/** Whether a peer's ratio is as an earlier measurement found it. */
export function differs(metric: Metric, subject: string, ratio: number): number | undefined {
  const expected = metric.expected?.[subject]
  if (expected === undefined) return undefined
  return Math.abs(ratio / expected - 1) > TOLERANCE ? expected : undefined
}
