// Verdicts as text for a terminal, and as a table for the documents.
import type { Check } from './checks.js'
import type { Verdict } from './judge.js'
import { idOf, type Row } from './row.js'

const SIGNS = { passed: 'ok  ', failed: 'FAIL', 'not judged': '??  ' }

export function line(verdict: Verdict): string {
  const { row, state, note, checks, seconds } = verdict
  const head = `${SIGNS[state]} ${idOf(row).padEnd(24)} ${row.fault} (${seconds.toFixed(1)} s)`
  const failed = checks
    .filter(({ ok }) => !ok)
    .map((check) => `       ! ${check.what} ${check.value}, must be ${check.bound}`)
  const figures = `       ${measured(checks)}`
  return [head, figures, ...failed, ...(note === undefined ? [] : [`       (${note})`])].join('\n')
}

export function summary(verdicts: readonly Verdict[]): string {
  const of = (state: Verdict['state']): number =>
    verdicts.filter((verdict) => verdict.state === state).length
  return `${verdicts.length} rows: ${of('passed')} passed, ${of('failed')} failed, ${of('not judged')} not judged`
}

/** The figures, without those that are the same in every row. */
function measured(checks: readonly Check[]): string {
  const told = checks.filter(({ routine, ok }) => !routine || !ok)
  return told.map(({ what, value }) => `${what} ${value.split('\n')[0]}`).join('; ')
}

const HEAD = ['| # | fault | Weir must | to pass | measured |', '|---|---|---|---|---|']
const HEAD_OF_USE = ['| # | measured |', '|---|---|']

function tableLine({ row, state, checks }: Verdict): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|')
  const figures = `${measured(checks)}${state === 'passed' ? '' : ` (**${state}**)`}`
  const { fault, must, pass, use } = row
  const cells = use === undefined ? [fault, must, pass, figures] : [figures]
  return `| ${[idOf(row), ...cells].map(cell).join(' | ')} |`
}

const START = '<!-- faults:start -->'
const END = '<!-- faults:end -->'

/** The page with the table between its marks. */
export function withTable(page: string, table: string): string {
  const [start, end] = [page.indexOf(START), page.indexOf(END)]
  if (start < 0 || end < start)
    throw new Error(`the page has no place for the table: ${START} ... ${END}`)
  return `${page.slice(0, start + START.length)}\n${table}\n${page.slice(end)}`
}

/**
 * The page with these lines of its tables replaced. The others stay, in the order of all rows.
 * Lines of a use follow the rest, and what holds for all of them is stated once.
 */
export function withLines(page: string, verdicts: readonly Verdict[], all: readonly Row[]): string {
  const table = page.slice(page.indexOf(START), page.indexOf(END))
  const lines = new Map(
    [...table.matchAll(/^\| ([^|]+?) +\|.*$/gm)].map(([text, id]) => [id, text]),
  )
  for (const verdict of verdicts) lines.set(idOf(verdict.row), tableLine(verdict))
  const toldOf = (use: string | undefined): string[] =>
    all.filter((row) => row.use === use).flatMap((row) => lines.get(idOf(row)) ?? [])
  const uses = [...new Map(all.map((row) => [row.use, row])).values()].flatMap((row) => {
    const told = toldOf(row.use)
    if (row.use === undefined || told.length === 0) return []
    const title = `**${row.use}**, under the same faults. Weir must ${row.must}; to pass, ${row.pass}.`
    return ['', title, '', ...HEAD_OF_USE, ...told]
  })
  return withTable(page, [...HEAD, ...toldOf(undefined), ...uses].join('\n'))
}
