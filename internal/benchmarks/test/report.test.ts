import { expect, test } from 'vitest'
import { BEST_PEER, type Goal, judge } from '../src/goals.js'
import { goalsText, sectionText, tableText } from '../src/report.js'
import type { Scenario } from '../src/scenario.js'
import { multiple, type Table } from '../src/table.js'

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
    },
    { id: 'rate', title: 'a second', digits: 0, better: 'more' },
  ],
  rows: [
    { subject: 'floor', kind: 'floor', samples: { us: [1, 1, 1], rate: [9_000] } },
    { subject: 'Weir', kind: 'weir', samples: { us: [0.5, 0.4, 0.6], rate: [20_000] } },
    { subject: 'Weir twice', kind: 'weir', samples: { us: [1, 1, 1] } },
    { subject: 'quick', kind: 'peer', samples: { us: [2, 2, 2], rate: [4_000] } },
    { subject: 'slow', kind: 'peer', samples: { us: [2.2, 2.2, 2.2] } },
  ],
}

const us = { table: 'cost', metric: 'us', what: 'time', of: ['Weir'] }
const rate = { table: 'cost', metric: 'rate', what: 'rate', peer: BEST_PEER, floor: 'floor' }
const goals: readonly Goal[] = [
  { ...us, per: 'floor', peer: 'slow', floor: 'floor', atMost: 0.5 },
  { ...us, per: BEST_PEER, peer: BEST_PEER, floor: undefined, atMost: 0.2 },
  { ...us, of: ['Weir', 'Weir twice'], peer: 'slow', floor: 'floor', atMost: 0.9 },
  { ...rate, of: ['Weir'], per: BEST_PEER, atLeast: 5 },
  { ...rate, of: ['Weir', 'later'], atLeast: 5 },
]

const scenario: Scenario = {
  id: 'cost',
  title: 'What it costs',
  about: 'Nothing is measured.',
  goals,
  measure: async () => [table],
}

test('goals are judged by medians of ratios, against the best peer with a figure', () => {
  const judgements = goals.map((goal) => judge(goal, [table]))
  const verdicts = judgements.map(({ verdict }) => verdict)
  expect(verdicts).toEqual(['met', 'missed', 'missed', 'met', undefined])
  expect(judgements[1]).toMatchObject({ per: 'the best peer, quick', values: [{ value: 0.25 }] })
})

test('a ratio is the median of the ratios of the rounds, since all of a round is slow or fast', () => {
  const uneven: Table = {
    ...table,
    rows: [
      { subject: 'floor', kind: 'floor', samples: { us: [1, 10, 3] } },
      { subject: 'Weir', kind: 'weir', samples: { us: [2, 20, 30] } },
      { subject: 'once', kind: 'peer', samples: { us: [6] } },
      { subject: 'added', kind: 'peer', samples: { us: [-1, 4, 5] } },
    ],
  }
  expect(multiple(uneven, 'Weir', 'floor', 'us')).toBe(2)
  expect(multiple(uneven, 'once', 'floor', 'us')).toBe(2)
  expect(multiple(uneven, 'Weir', 'added', 'us')).toBe(5)
  expect(multiple(uneven, 'nobody', 'floor', 'us')).toBeUndefined()
})

test('a figure that is shown as 0 has no spread', () => {
  const samples = { us: [0.001, 0.02, 0.9], rate: [1, 2, 3] }
  const text = tableText({ ...table, rows: [{ subject: 'once', kind: 'peer', samples }] })
  expect(text.split('\n').at(-1)).toBe('| once | 0.0 | 2 ±25 % |')
})

test('the report shows figures, ratios and spreads', () => {
  expect(sectionText({ scenario, tables: [table] })).toMatchInlineSnapshot(`
    "## What it costs

    Nothing is measured.

    |  | us (x floor) | a second |
    |---|---|---|
    | floor | 1.0 (1.00) ±0 % | 9,000 |
    | **Weir** | 0.5 (0.50) ±10 % | 20,000 |
    | **Weir twice** | 1.0 (1.00) ±0 % |  |
    | quick | 2.0 (2.00) ±0 % | 4,000 |
    | slow | 2.2 (2.20) ±0 % |  |"
  `)
})

test('the report shows which goals are met', () => {
  expect(goalsText([{ scenario, tables: [table] }])).toMatchInlineSnapshot(`
    "2 of 5 met; 2 missed; 1 not measured.

    | where | what | to reach | reached | peer | floor |  |
    |---|---|---|---|---|---|---|
    | What it costs | time, x floor | at most 0.5 | Weir 0.500 | slow 2.20 | floor 1.00 | met |
    | What it costs | time, x the best peer, quick | at most 0.2 | Weir **0.250** | quick 1.00 | - | **missed** |
    | What it costs | time | at most 0.9 | Weir 0.50, twice **1.00** | slow 2.20 | floor 1.00 | **missed** |
    | What it costs | rate, x the best peer, quick | at least 5 | Weir 5.00 | quick 1.00 | floor 2.25 | met |
    | What it costs | rate | at least 5 | Weir 20,000 | quick 4,000 | floor 9,000 | not measured |"
  `)
})
