// Verdicts as text. Of the figures, "over" is the most that passed in any window of the limit (100
// per 2 s, unless a row says otherwise), "max" the longest decision, without time in which the
// machine gave the process no CPU, and "normal" the time from the end of the fault until decisions
// were as before it. "Not judged" has not passed: the machine was busy, twice.

import type { Check } from './checks.js'
import type { Verdict } from './judge.js'
import { idOf } from './row.js'

const SIGNS = { passed: 'ok  ', failed: 'FAIL', 'not judged': '??  ' }

export function line(verdict: Verdict): string {
  const { row, state, note, checks, seconds } = verdict
  const head = `${SIGNS[state]} ${idOf(row).padEnd(24)} ${row.fault} (${seconds.toFixed(1)} s)`
  const must = state === 'passed' ? [] : [`       Weir must ${row.must}`]
  const failed = checks
    .filter(({ ok }) => !ok)
    .map((check) => `       ! ${check.what} ${check.value}, must be ${check.bound}`)
  const figures = `       ${measured(checks)}`
  return [
    head,
    ...must,
    figures,
    ...failed,
    ...(note === undefined ? [] : [`       (${note})`]),
  ].join('\n')
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
