import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Check, countAtMost, msAtMost, none, shareAtMost } from '../../src/faults/checks.js'
import type { Verdict } from '../../src/faults/judge.js'
import { line, withLines, withTable } from '../../src/faults/report.js'
import { idOf, type Row } from '../../src/faults/row.js'
import { rows } from '../../src/faults/rows.js'

const row: Row = {
  number: '3',
  fault: 'SIGSTOP | hung',
  must: 'answer',
  pass: 'max <= 150 ms',
  run: async () => [],
}

function verdict(state: Verdict['state'], checks: readonly Check[]): Verdict {
  return { row, state, checks, seconds: 7 }
}

/** A table of only these verdicts. */
function markdown(verdicts: readonly Verdict[]): string {
  const page = '<!-- faults:start -->\n<!-- faults:end -->'
  const written = withLines(
    page,
    verdicts,
    verdicts.map((each) => each.row),
  )
  return written.split('\n').slice(1, -1).join('\n')
}

test('checks show value and bound, and hold at the bound', () => {
  expect(msAtMost('max', 104.6, 150)).toMatchObject({
    value: '105 ms',
    bound: '<= 150 ms',
    ok: true,
  })
  expect(msAtMost('max', 150, 150).ok).toBe(true)
  expect(msAtMost('normal', Number.POSITIVE_INFINITY, 1_500)).toMatchObject({
    value: 'never',
    ok: false,
  })
  expect(countAtMost('over', 201, 200)).toMatchObject({ value: '201', ok: false })
  expect(shareAtMost('> 50 ms', 0.0314, 0.03)).toMatchObject({ value: '3.1 %', ok: false })
  expect(none('errors', ['a', 'b', 'a'])).toMatchObject({ value: '3: a | b', ok: false })
})

test('a line for the terminal names what failed and its bound', () => {
  const text = line(verdict('failed', [countAtMost('over', 201, 200)]))
  expect(text).toMatch(/^FAIL 3 /)
  expect(text).toContain('! over 201, must be <= 200')
})

test('lines of judged rows are replaced, and the others stay', () => {
  const other: Row = { ...row, number: '4' }
  const added: Row = { ...row, number: '5' }
  const of = (some: Row): Verdict => ({
    ...verdict('passed', [msAtMost('max', 5, 150)]),
    row: some,
  })
  const page = `before\n${withTable('<!-- faults:start --><!-- faults:end -->', markdown([of(row), of(other)]))}`
  const late = { ...of(other), checks: [msAtMost('max', 9, 150)] }
  const written = withLines(page, [of(added), late], [row, other, added])
  expect(
    written.split('\n').filter((each) => each.startsWith('| ') && !each.startsWith('| #')),
  ).toEqual(['3', '4', '5'].map((id) => expect.stringMatching(new RegExp(`^\\| ${id} `))))
  expect(written).toContain('max 9 ms')
  expect(written.match(/max 5 ms/g)).toHaveLength(2)
  expect(withLines(written, [], [row, other, added])).toBe(written)
})

test('rows of a use follow the others, and what holds for all of them is stated once', () => {
  const waits: Row = { ...row, variant: 'waiting', must: 'wait', pass: 'in time', use: 'waiting' }
  const other: Row = { ...row, number: '4' }
  const of = (some: Row): Verdict => ({ ...verdict('passed', []), row: some })
  const all = [row, waits, other]
  const page = withLines('<!-- faults:start -->\n<!-- faults:end -->', all.map(of), all)
  const lines = page.split('\n').slice(3, -1)
  expect(lines.map((each) => each.split(' |')[0])).toEqual([
    '| 3',
    '| 4',
    '',
    '**waiting**, under the same faults. Weir must wait; to pass, in time.',
    '',
    '| #',
    '|---|---|',
    '| 3 waiting',
  ])
  expect(lines.at(-1)).toBe('| 3 waiting |  |')
  expect(withLines(page, [], all)).toBe(page)
})

test('the full table has the present rows', () => {
  const results = readFileSync(new URL('../../src/faults/results.md', import.meta.url), 'utf8')
  const table = results.slice(
    results.indexOf('<!-- faults:start -->'),
    results.indexOf('<!-- faults:end -->'),
  )
  const ids = [...table.matchAll(/^\| ([^|]+?) +\|/gm)].map((match) => match[1])
  const uses = [...new Set(rows.map(({ use }) => use))]
  const inOrder = uses.flatMap((use) => rows.filter((row) => row.use === use).map(idOf))
  expect(ids.filter((id) => id !== '#')).toEqual(inOrder)
})
