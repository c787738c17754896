import { expect, test } from 'vitest'
import { BEST_PEER, type Goal, judge } from '../src/goals.js'
import { EMPTY_PAGE, report, withReport } from '../src/report.js'
import type { Scenario } from '../src/scenario.js'
import type { Table } from '../src/table.js'

const table: Table = {
  id: 'cost',
  title: 'Cost',
  metrics: [
    { id: 'us', title: 'us', digits: 1, better: 'less', base: 'floor', expected: { slow: 2, quick: 3 } },
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
  { table: 'cost', metric: 'us', what: 'time', of: ['Weir'], per: 'floor', atMost: 0.5 },
  { table: 'cost', metric: 'us', what: 'time', of: ['Weir'], per: BEST_PEER, atMost: 0.2, aim: 0.1 },
  { table: 'cost', metric: 'rate', what: 'rate', of: ['Weir'], per: BEST_PEER, atLeast: 5 },
  { table: 'cost', metric: 'rate', what: 'rate', of: ['Weir', 'later'], atLeast: 5 },
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
  expect(() => judge({ ...(goals[0] as Goal), metric: 'bytes' }, [table])).toThrow(/nothing measures/)
})

test('the report tells figures, ratios, spreads, goals, and peers that are not as expected', () => {
  expect(report([{ scenario, tables: [table] }], 'Head.')).toMatchInlineSnapshot(`
    "Head.

    2 of 3 goals met; 1 not measured.

    ### What it costs

    Nothing is measured.

    |  | us (x floor) | a second |
    |---|---|---|
    | floor | 1.0 (1.00) ±0 % | 9,000 |
    | **Weir** | 0.5 (0.50) ±10 % | 20,000 |
    | quick | 2.0 (2.00) ±0 % [!] expected 3 | 4,000 |
    | slow | 2.2 (2.20) ±0 % |  |

    | goal | figure | to reach |  |
    |---|---|---|---|
    | time, x floor | Weir 0.50 | at most 0.5 | met |
    | time, x the best peer, quick | Weir 0.25 | at most 0.2 (aim 0.1) | **missed** |
    | rate, x the best peer, quick | Weir 5.00 | at least 5 | met |
    | rate | Weir 20,000 | at least 5 | not measured |"
  `)
})

test('the page keeps what is around the report', () => {
  const page = withReport(`Before.\n${EMPTY_PAGE}After.`, 'New.')
  expect(withReport(page, 'Newer.')).toBe(
    `Before.\n${EMPTY_PAGE.replace('start -->\n', 'start -->\n\nNewer.\n\n')}After.`,
  )
  expect(() => withReport('no marks', 'New.')).toThrow(/no place/)
})
