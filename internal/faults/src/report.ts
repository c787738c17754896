// Verdicts as text for a terminal and as a table for the docs.
import type { Check } from './checks.js'
import type { Verdict } from './judge.js'
import { idOf } from './row.js'

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
export function measured(checks: readonly Check[]): string {
  const told = checks.filter(({ routine, ok }) => !routine || !ok)
  return told.map(({ what, value }) => `${what} ${value.split('\n')[0]}`).join('; ')
}

export function markdown(verdicts: readonly Verdict[]): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|')
  const lines = verdicts.map((verdict) => {
    const { row, state, checks } = verdict
    const figures = `${measured(checks)}${state === 'passed' ? '' : ` (**${state}**)`}`
    return `| ${[idOf(row), row.fault, row.must, row.pass, figures].map(cell).join(' | ')} |`
  })
  return ['| # | fault | Weir must | to pass | measured |', '|---|---|---|---|---|', ...lines].join(
    '\n',
  )
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
