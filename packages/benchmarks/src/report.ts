// Figures and goals as Markdown, for a terminal and for the docs.

import { BEST_PEER, boundOf, differs, type Judgement, judge } from './goals.js'
import type { Scenario } from './scenario.js'
import { spread } from './statistics.js'
import { figure, type Metric, type Row, ratio, type Table } from './table.js'

export interface Result {
  readonly scenario: Scenario
  readonly tables: readonly Table[]
}

export function report(results: readonly Result[], head: string): string {
  const judgements = results.map(({ scenario, tables }) => scenario.goals.map((goal) => judge(goal, tables)))
  return [
    head,
    summary(judgements.flat()),
    ...results.flatMap(({ scenario, tables }, i) => [
      `### ${scenario.title}`,
      scenario.about,
      ...tables.flatMap((table) => [...(tables.length > 1 ? [`**${table.title}**`] : []), tableText(table)]),
      ...goalsText(judgements[i] as Judgement[]),
    ]),
  ].join('\n\n')
}

function summary(judgements: readonly Judgement[]): string {
  const met = judgements.filter((judgement) => judgement.met === true).length
  const unknown = judgements.filter((judgement) => judgement.met === undefined).length
  const measured = judgements.length - unknown
  return `${met} of ${measured} goals met${unknown > 0 ? `; ${unknown} not measured` : ''}.`
}

function tableText(table: Table): string {
  const titles = table.metrics.map(({ title, base }) => (base === undefined ? title : `${title} (x ${base})`))
  const lines = table.rows.map((row) => {
    const name = row.kind === 'weir' ? `**${row.subject}**` : row.subject
    return cells([name, ...table.metrics.map((metric) => cellText(table, row, metric))])
  })
  return [cells(['', ...titles]), `|${'---|'.repeat(titles.length + 1)}`, ...lines].join('\n')
}

/** Median, ratio to the base, how far the rounds disagree; and what was expected, if that is far off. */
function cellText(table: Table, row: Row, metric: Metric): string {
  const value = figure(table, row.subject, metric.id)
  if (value === undefined) return ''
  const parts = [number(value, metric.digits)]
  const times = ratio(table, row.subject, metric)
  if (times !== undefined) parts.push(`(${times.toFixed(2)})`)
  const samples = row.samples[metric.id] as readonly number[]
  if (samples.length > 2 && value > 0) parts.push(`±${Math.round(spread(samples) * 50)} %`)
  const expected = times === undefined ? undefined : differs(metric, row.subject, times)
  if (expected !== undefined) parts.push(`[!] expected ${expected}`)
  return parts.join(' ')
}

function goalsText(judgements: readonly Judgement[]): string[] {
  if (judgements.length === 0) return []
  const lines = judgements.map(({ goal, per, values, met }) => {
    const measured = values.map(({ subject, value }) => {
      const text = goal.per === undefined ? number(value, value < 10 ? 2 : 0) : value.toFixed(2)
      return `${short(subject)} ${text}`
    })
    const what = per === undefined ? goal.what : `${goal.what}, x ${per}`
    const verdict = met === undefined ? 'not measured' : met ? 'met' : '**missed**'
    return cells([what, measured.join(', '), boundOf(goal), verdict])
  })
  return [[cells(['goal', 'figure', 'to reach', '']), '|---|---|---|---|', ...lines].join('\n')]
}

/** Of a row of goals, which all are Weir's. */
function short(subject: string): string {
  return subject.replace(/^Weir,? /, '')
}

function number(value: number, digits: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function cells(texts: readonly string[]): string {
  return `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
}

/** What the marks in the tables mean. */
export const LEGEND: string = `Medians of the rounds; in brackets the ratio to the row named in the heading; ± half the distance between the quartiles. [!] marks a peer whose ratio is more than 25 % off what an earlier, independent measurement of the same version found. "${BEST_PEER}" is the one with the best figure in that column.`

const START = '<!-- benchmarks:start -->'
const END = '<!-- benchmarks:end -->'

/** A page that has nothing yet. */
export const EMPTY_PAGE: string = `# Benchmarks\n\n${START}\n${END}\n`

/** The page with the report between its marks. */
export function withReport(page: string, text: string): string {
  const [start, end] = [page.indexOf(START), page.indexOf(END)]
  if (start < 0 || end < start) throw new Error(`the page has no place for the report: ${START} ... ${END}`)
  return `${page.slice(0, start + START.length)}\n\n${text}\n\n${page.slice(end)}`
}
