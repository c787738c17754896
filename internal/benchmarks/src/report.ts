// Goals and figures as Markdown, for a terminal and for the documents.

import { BEST_PEER, boundOf, type Judgement, judge } from './goals.js'
import type { Scenario } from './scenario.js'
import { spread } from './statistics.js'
import { figure, type Metric, type Row, ratio, type Table } from './table.js'

/** A scenario, and what was measured. */
export interface Result {
  readonly scenario: Scenario
  readonly tables: readonly Table[]
}

/** One scenario's figures. */
export function sectionText({ scenario: { title, about }, tables }: Result): string {
  const titled = tables.length > 1
  return [
    `## ${title}`,
    about,
    ...tables.flatMap((table) => [...(titled ? [`**${table.title}**`] : []), tableText(table)]),
  ].join('\n\n')
}

/** The goals, and whether they are met. */
export function goalsText(results: readonly Result[]): string {
  const judged = results.flatMap(({ scenario: { title, goals }, tables }) =>
    goals.map((goal) => ({ title, judgement: judge(goal, tables) })),
  )
  const titles = ['where', 'what', 'to reach', 'reached', 'peer', 'floor', '']
  return [
    summary(judged.map(({ judgement }) => judgement)),
    [
      cells(titles),
      `|${'---|'.repeat(titles.length)}`,
      ...judged.map(({ title, judgement }) => goalText(title, judgement)),
    ].join('\n'),
  ].join('\n\n')
}

function summary(goals: readonly Judgement[]): string {
  const countOf = (wanted: Judgement['verdict']): number =>
    goals.filter(({ verdict }) => verdict === wanted).length
  const texts = [`${countOf('met')} of ${goals.length} met`, `${countOf('missed')} missed`]
  if (countOf(undefined) > 0) texts.push(`${countOf(undefined)} not measured`)
  return `${texts.join('; ')}.`
}

function goalText(title: string, { goal, per, values, peer, floor, verdict }: Judgement): string {
  const measure = (value: number): string =>
    per === undefined ? number(value, value < 10 ? 2 : 0) : value.toFixed(value < 1 ? 3 : 2)
  const reached = values.map(({ subject, value, ...judged }) => {
    const text = measure(value)
    return `${short(subject)} ${judged.verdict === 'met' ? text : `**${text}**`}`
  })
  const besides = [peer, floor].map((each) =>
    each === undefined ? '-' : `${each.name} ${measure(each.value)}`,
  )
  const what = per === undefined ? goal.what : `${goal.what}, x ${per}`
  const told = verdict === 'missed' ? '**missed**' : (verdict ?? 'not measured')
  return cells([...[title, what, boundOf(goal), reached.join(', ')], ...[...besides, told]])
}

export function tableText(table: Table): string {
  const { metrics, rows } = table
  const titles = metrics.map(({ title, base }) =>
    base === undefined ? title : `${title} (x ${base})`,
  )
  const lines = rows.map((row) => {
    const name = row.kind === 'weir' ? `**${row.subject}**` : row.subject
    return cells([name, ...metrics.map((metric) => cellText(table, row, metric))])
  })
  return [cells(['', ...titles]), `|${'---|'.repeat(titles.length + 1)}`, ...lines].join('\n')
}

/** The median, its ratio to the base, and half the distance between the quartiles. */
function cellText(table: Table, { subject, samples }: Row, metric: Metric): string {
  const value = figure(table, subject, metric.id)
  if (value === undefined) return ''
  const times = ratio(table, subject, metric)
  const parts = [number(value, metric.digits)]
  if (times !== undefined) parts.push(`(${times.toFixed(2)})`)
  const all = samples[metric.id] as readonly number[]
  // A figure that is shown as 0 has no spread.
  if (all.length > 2 && Number(value.toFixed(metric.digits)) > 0)
    parts.push(`±${Math.round(spread(all) * 50)} %`)
  return parts.join(' ')
}

/** The name of a subject in a row of goals, which are all Weir's. */
function short(subject: string): string {
  return subject.replace(/^Weir,? /, '')
}

export function number(value: number, digits: number): string {
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

export function cells(texts: readonly string[]): string {
  return `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
}

/** Explains the marks in the tables. */
export const LEGEND: string = `Medians of the rounds; in brackets the ratio to the row named in the heading, the median of the rounds' ratios; ± half the distance between the quartiles. "${BEST_PEER}" is the one with the best figure in that column.`
