// Goals and figures as Markdown, for a terminal and for the docs.

import { BEST_PEER, boundOf, differs, type Judgement, judge } from './goals.js'
import type { Scenario } from './scenario.js'
import { spread } from './statistics.js'
import { figure, type Metric, type Row, ratio, type Table } from './table.js'

export interface Result {
  readonly scenario: Scenario
  readonly tables: readonly Table[]
}

export interface Report {
  /** What is to be reached, and whether it is. */
  readonly goals: string
  /** All that was measured, and on what. */
  readonly figures: string
}

export function report(results: readonly Result[], head: string): Report {
  return { goals: goalsText(results), figures: [head, ...results.map(sectionText)].join('\n\n') }
}

/** One scenario's figures. */
export function sectionText({ scenario, tables }: Result): string {
  const titled = tables.length > 1
  return [
    `### ${scenario.title}`,
    scenario.about,
    ...tables.flatMap((table) => [...(titled ? [`**${table.title}**`] : []), tableText(table)]),
  ].join('\n\n')
}

function goalsText(results: readonly Result[]): string {
  const rows = results.flatMap(({ scenario, tables }) =>
    scenario.goals.map((goal) => ({ scenario, ...judge(goal, tables) })),
  )
  const lines = rows.map(({ scenario, ...judgement }) => goalText(scenario.title, judgement))
  const titles = ['where', 'what', 'to reach', 'reached', 'peer', 'floor', '']
  return [
    summary(rows),
    [cells(titles), `|${'---|'.repeat(titles.length)}`, ...lines].join('\n'),
  ].join('\n\n')
}

function summary(judgements: readonly Judgement[]): string {
  const countOf = (wanted: Judgement['verdict']): number =>
    judgements.filter(({ verdict }) => verdict === wanted).length
  const texts = [`${countOf('met')} of ${judgements.length} met`, `${countOf('missed')} missed`]
  if (countOf(undefined) > 0) texts.push(`${countOf(undefined)} not measured`)
  return `${texts.join('; ')}.`
}

function goalText(title: string, judgement: Judgement): string {
  const { goal, per, values, peer, floor, verdict } = judgement
  const measure = (value: number): string =>
    goal.per === undefined ? number(value, value < 10 ? 2 : 0) : value.toFixed(value < 1 ? 3 : 2)
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
  const titles = table.metrics.map(({ title, base }) =>
    base === undefined ? title : `${title} (x ${base})`,
  )
  const lines = table.rows.map((row) => {
    const name = row.kind === 'weir' ? `**${row.subject}**` : row.subject
    return cells([name, ...table.metrics.map((metric) => cellText(table, row, metric))])
  })
  return [cells(['', ...titles]), `|${'---|'.repeat(titles.length + 1)}`, ...lines].join('\n')
}

/**
 * Median, ratio to the base, how far the rounds disagree; and what was expected, if that is far
 * off.
 */
function cellText(table: Table, row: Row, metric: Metric): string {
  const value = figure(table, row.subject, metric.id)
  if (value === undefined) return ''
  const parts = [number(value, metric.digits)]
  const times = ratio(table, row.subject, metric)
  if (times !== undefined) parts.push(`(${times.toFixed(2)})`)
  const samples = row.samples[metric.id] as readonly number[]
  // Of what is shown as 0 there is no part.
  if (samples.length > 2 && Number(value.toFixed(metric.digits)) > 0)
    parts.push(`±${Math.round(spread(samples) * 50)} %`)
  const expected = times === undefined ? undefined : differs(metric, row.subject, times)
  if (expected !== undefined) parts.push(`[!] expected ${expected}`)
  return parts.join(' ')
}

/** Of a row of goals, which all are Weir's. */
function short(subject: string): string {
  return subject.replace(/^Weir,? /, '')
}

function number(value: number, digits: number): string {
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

function cells(texts: readonly string[]): string {
  return `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
}

/** What the marks in the tables mean. */
export const LEGEND: string = `Medians of the rounds; in brackets the ratio to the row named in the heading, the median of the rounds' ratios; ± half the distance between the quartiles. [!] marks a peer whose ratio is more than 25 % off what an earlier, independent measurement of the same version found. "${BEST_PEER}" is the one with the best figure in that column.`

/** The page with the report between its marks. What is around them is written by hand. */
export function withReport(page: string, { goals, figures }: Report): string {
  return withPart(withPart(page, 'goals', goals), 'figures', figures)
}

/** A page with a text between the marks of a part. */
export function withPart(page: string, name: string, text: string): string {
  const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`]
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from < 0 || to < from)
    throw new Error(`the page has no place for the report: ${start} ... ${end}`)
  return `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`
}
