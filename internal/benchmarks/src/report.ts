// Goals and figures as Markdown, for a terminal and for the laboratory notes.

import { BEST_PEER, boundOf } from './goals.js'
import type { Figure, KeptGoal, KeptTable, RunRecord, Section } from './record.js'

export interface Report {
  /** The goals, and whether they are met. */
  readonly goals: string
  /** All measured figures, and the machine. */
  readonly figures: string
}

export function report({ measured, sections }: RunRecord): Report {
  return {
    goals: goalsText(sections),
    figures: [measured, LEGEND, ...sections.map(sectionText)].join('\n\n'),
  }
}

/** One scenario's figures. */
export function sectionText({ title, about, tables }: Section): string {
  const titled = tables.length > 1
  return [
    `## ${title}`,
    about,
    ...tables.flatMap((table) => [...(titled ? [`**${table.title}**`] : []), tableText(table)]),
  ].join('\n\n')
}

function goalsText(sections: readonly Section[]): string {
  const lines = sections.flatMap(({ title, goals }) => goals.map((goal) => goalText(title, goal)))
  const titles = ['where', 'what', 'to reach', 'reached', 'peer', 'floor', '']
  return [
    summary(sections.flatMap(({ goals }) => goals)),
    [cells(titles), `|${'---|'.repeat(titles.length)}`, ...lines].join('\n'),
  ].join('\n\n')
}

function summary(goals: readonly KeptGoal[]): string {
  const countOf = (wanted: KeptGoal['verdict']): number =>
    goals.filter(({ verdict }) => verdict === wanted).length
  const texts = [`${countOf('met')} of ${goals.length} met`, `${countOf('missed')} missed`]
  if (countOf(undefined) > 0) texts.push(`${countOf(undefined)} not measured`)
  return `${texts.join('; ')}.`
}

function goalText(title: string, { goal, per, values, peer, floor, verdict }: KeptGoal): string {
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

export function tableText({ metrics, rows }: KeptTable): string {
  const titles = metrics.map(({ title, base }) =>
    base === undefined ? title : `${title} (x ${base})`,
  )
  const lines = rows.map(({ subject, kind, figures }) => {
    const name = kind === 'weir' ? `**${subject}**` : subject
    return cells([name, ...metrics.map(({ id, digits }) => cellText(figures[id], digits))])
  })
  return [cells(['', ...titles]), `|${'---|'.repeat(titles.length + 1)}`, ...lines].join('\n')
}

/** The median, its ratio to the base, and the spread of the rounds. */
function cellText(figure: Figure | undefined, digits: number): string {
  if (figure === undefined) return ''
  const { value, times, spread } = figure
  const parts = [number(value, digits)]
  if (times !== undefined) parts.push(`(${times.toFixed(2)})`)
  if (spread !== undefined) parts.push(`±${spread} %`)
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

/** The page with the text between the marks of a part replaced. The rest is written by hand. */
export function withPart(page: string, name: string, text: string): string {
  const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`]
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from < 0 || to < from)
    throw new Error(`the page has no place for the report: ${start} ... ${end}`)
  return `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`
}
