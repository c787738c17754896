// The results of a run, as the pages show them.

import { type Goal, type Judgement, judge } from './goals.js'
import type { Scenario } from './scenario.js'
import { spread } from './statistics.js'
import { figure, type Kind, type Metric, type Row, ratio, type Table } from './table.js'

export interface Result {
  readonly scenario: Scenario
  readonly tables: readonly Table[]
}

export interface RunRecord {
  /** The date, the command and the machine. */
  readonly measured: string
  readonly sections: readonly Section[]
}

/** The results of one scenario. */
export interface Section {
  readonly id: string
  readonly title: string
  readonly about: string
  readonly goals: readonly KeptGoal[]
  readonly tables: readonly KeptTable[]
}

export interface KeptGoal extends Omit<Judgement, 'goal'> {
  readonly goal: Pick<Goal, 'what' | 'atMost' | 'atLeast'>
}

export interface KeptTable {
  readonly id: string
  readonly title: string
  readonly metrics: readonly Pick<Metric, 'id' | 'title' | 'digits' | 'base'>[]
  readonly rows: readonly KeptRow[]
}

export interface KeptRow {
  readonly subject: string
  readonly kind: Kind
  /** By metric, without metrics for which the subject has no figure. */
  readonly figures: Readonly<Record<string, Figure>>
}

export interface Figure {
  /** The median of the rounds. */
  readonly value: number
  /** As a multiple of the metric's base. */
  readonly times?: number
  /** How far the rounds disagree: half the distance between the quartiles, in percent. */
  readonly spread?: number
}

export function recordOf(results: readonly Result[], measured: string): RunRecord {
  return { measured, sections: results.map(sectionOf) }
}

export function sectionOf({ scenario, tables }: Result): Section {
  const { id, title, about } = scenario
  const goals = scenario.goals.map((goal) => keptGoal(judge(goal, tables)))
  return { id, title, about, goals, tables: tables.map(keptTable) }
}

function keptGoal({ goal, ...judgement }: Judgement): KeptGoal {
  const { what, atMost, atLeast } = goal
  const bound = {
    ...(atMost === undefined ? {} : { atMost }),
    ...(atLeast === undefined ? {} : { atLeast }),
  }
  return { goal: { what, ...bound }, ...judgement }
}

export function keptTable(table: Table): KeptTable {
  const { id, title } = table
  const metrics = table.metrics.map(({ id, title, digits, base }) => ({
    ...{ id, title, digits },
    ...(base === undefined ? {} : { base }),
  }))
  const rows = table.rows.map((row): KeptRow => {
    const figures = table.metrics.flatMap((metric) => {
      const found = figureOf(table, row, metric)
      return found === undefined ? [] : [[metric.id, found] as const]
    })
    return { subject: row.subject, kind: row.kind, figures: Object.fromEntries(figures) }
  })
  return { id, title, metrics, rows }
}

function figureOf(table: Table, row: Row, metric: Metric): Figure | undefined {
  const median = figure(table, row.subject, metric.id)
  if (median === undefined) return undefined
  const value = rounded(median, metric.digits)
  const samples = row.samples[metric.id] as readonly number[]
  const times = ratio(table, row.subject, metric)
  return {
    value,
    ...(times === undefined ? {} : { times: rounded(times, 2) }),
    // A figure that is shown as 0 has no spread.
    ...(samples.length > 2 && value > 0 ? { spread: Math.round(spread(samples) * 50) } : {}),
  }
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
