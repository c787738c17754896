import { expect, test } from 'vitest'
import { sectionText, tableText } from '../src/report.js'
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
      base: 'floor',
    },
    { id: 'rate', title: 'a second', digits: 0 },
  ],
  rows: [
    { subject: 'floor', kind: 'floor', samples: { us: [1, 1, 1], rate: [9_000] } },
    { subject: 'Weir', kind: 'weir', samples: { us: [0.5, 0.4, 0.6], rate: [20_000] } },
    { subject: 'Weir twice', kind: 'weir', samples: { us: [1, 1, 1] } },
    { subject: 'quick', kind: 'peer', samples: { us: [2, 2, 2], rate: [4_000] } },
    { subject: 'slow', kind: 'peer', samples: { us: [2.2, 2.2, 2.2] } },
  ],
}

const scenario: Scenario = {
  id: 'cost',
  title: 'What it costs',
  about: 'Nothing is measured.',
  measure: async () => [table],
}

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
