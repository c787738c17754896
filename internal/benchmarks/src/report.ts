// Figures as Markdown, for a terminal and for the documents.

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
export const LEGEND: string = `Medians of the rounds; in brackets the ratio to the row named in the heading, the median of the rounds' ratios; ± half the distance between the quartiles.`
