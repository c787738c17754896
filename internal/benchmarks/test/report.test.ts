import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { BEST_PEER, type Goal, judge } from '../src/goals.js'
import { report, withReport } from '../src/report.js'
import type { Scenario } from '../src/scenario.js'
import type { Table } from '../src/table.js'

const table: Table = {
  id: 'cost',
  title: 'Cost',
  metrics: [
    {
      id: 'us',
      title: 'us',
      digits: 1,
      better: 'less',
      base: 'floor',
      expected: { slow: 2, quick: 3 },
    },
    { id: 'rate', title: 'a second', digits: 0, better: 'more' },
  ],
  rows: [
    { subject: 'floor', kind: 'floor', samples: { us: [1, 1, 1], rate: [9_000] } },
    { subject: 'Weir', kind: 'weir', samples: { us: [0.5, 0.4, 0.6], rate: [20_000] } },
    { subject: 'quick', kind: 'peer', samples: { us: [2, 2, 2], rate: [4_000] } },
    { subject: 'slow', kind: 'peer', samples: { us: [2.2, 2.2, 2.2] } },
  ],
}

const goals: readonly Goal[] = [
  { number: 2, table: 'cost', metric: 'us', what: 'time', of: ['Weir'], per: 'floor', atMost: 0.5 },
  {
    ...{ number: 1, table: 'cost', metric: 'us', what: 'time', of: ['Weir'] },
    ...{ per: BEST_PEER, atMost: 0.2, aim: 0.1 },
  },
  {
    number: 3,
    table: 'cost',
    metric: 'rate',
    what: 'rate',
    of: ['Weir'],
    per: BEST_PEER,
    atLeast: 5,
  },
  { number: 3, table: 'cost', metric: 'rate', what: 'rate', of: ['Weir', 'later'], atLeast: 5 },
]

const scenario: Scenario = {
  id: 'cost',
  title: 'What it costs',
  about: 'Nothing is measured.',
  goals,
  measure: async () => [table],
}

test('goals are judged by ratios of medians, against the best peer that has a figure', () => {
  const judgements = goals.map((goal) => judge(goal, [table]))
  expect(judgements.map(({ met }) => met)).toEqual([true, false, true, undefined])
  expect(judgements[1]).toMatchObject({ per: 'the best peer, quick', values: [{ value: 0.25 }] })
})

test('a goal for what nothing measures is a mistake', () => {
  expect(() => judge({ ...(goals[0] as Goal), metric: 'bytes' }, [table])).toThrow(
    /nothing measures/,
  )
})

const { goals: judged, figures } = report([{ scenario, tables: [table] }], 'Head.')

test('the report tells figures, ratios, spreads, and peers that are not as expected', () => {
  expect(figures).toMatchInlineSnapshot(`
    "Head.

    ### What it costs

    Nothing is measured.

    |  | us (x floor) | a second |
    |---|---|---|
    | floor | 1.0 (1.00) ±0 % | 9,000 |
    | **Weir** | 0.5 (0.50) ±10 % | 20,000 |
    | quick | 2.0 (2.00) ±0 % [!] expected 3 | 4,000 |
    | slow | 2.2 (2.20) ±0 % |  |"
  `)
})

test('and, by their numbers, which goals are met', () => {
  expect(judged).toMatchInlineSnapshot(`
    "2 of 4 met; 1 missed, of number 1; 1 not measured.

    |  | where | what | Weir | to reach |  |
    |---|---|---|---|---|---|
    | 1 | What it costs | time, x the best peer, quick | Weir **0.250** | at most 0.2 (aim 0.1) | **missed** |
    | 2 | What it costs | time, x floor | Weir 0.500 | at most 0.5 | met |
    | 3 | What it costs | rate, x the best peer, quick | Weir 5.00 | at least 5 | met |
    | 3 | What it costs | rate | Weir 20,000 | at least 5 | not measured |"
  `)
})

test('the page keeps what is around the report', () => {
  const page = (goalsHere: string, figuresHere: string): string =>
    `One.\n<!-- goals:start -->${goalsHere}<!-- goals:end -->\nTwo.\n<!-- figures:start -->${figuresHere}<!-- figures:end -->\nThree.`
  const first = withReport(page('', '\n'), { goals: 'Few.', figures: 'Many.' })
  expect(first).toBe(page('\n\nFew.\n\n', '\n\nMany.\n\n'))
  expect(withReport(first, { goals: 'All.', figures: 'More.' })).toBe(
    page('\n\nAll.\n\n', '\n\nMore.\n\n'),
  )
  expect(() => withReport('no marks', { goals: '', figures: '' })).toThrow(/no place/)
})

test('the page in the docs has a place for it', async () => {
  const page = await readFile(new URL('../../../docs/benchmarks.md', import.meta.url), 'utf8')
  expect(withReport(page, { goals: 'Few.', figures: 'Many.' })).toMatch(/Few\.(.|\n)*Many\./)
})
