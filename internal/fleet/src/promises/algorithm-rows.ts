// The table "What each promises" of docs/algorithms.md.

import { type BoundRow, example, LIMIT, tableOf, textOf } from './bound-row.js'
import { aimedAtGrid, anyWindow, aroundEdge, fromBucket } from './bounds.js'

const MINUTE_MS = 60_000

export type AlgorithmFormula = 'anyWindow' | 'aroundEdge' | 'aimedAtGrid' | 'fromBucket'

interface AlgorithmRow extends BoundRow {
  readonly formula: AlgorithmFormula
  /** How exact the algorithm is. */
  readonly exact: string
}

export const algorithmRows: readonly AlgorithmRow[] = [
  {
    when: '`tokenBucket`, `gcra`, `leakyBucket`',
    passes: 'L (the capacity) + rate × t in any time t',
    formula: 'fromBucket',
    examples: [
      example(
        `at ${LIMIT} a minute, in a minute`,
        `${LIMIT} + ${LIMIT} - 1`,
        fromBucket(LIMIT, LIMIT, MINUTE_MS, MINUTE_MS),
      ),
    ],
    exact:
      'whole eighths of a microsecond; the rate is too low by less than 1 part in 8 × (microseconds ' +
      'per unit). A rate that this would change by over 1 % is refused',
  },
  {
    when: '`fixedWindow`',
    passes: 'L in each of its windows; 2 × L in a time of that length around an edge',
    formula: 'aroundEdge',
    examples: [example('', `2 × ${LIMIT}`, aroundEdge(LIMIT))],
    exact: 'whole ms',
  },
  {
    when: '`slidingLog`',
    passes: 'L in any window',
    formula: 'anyWindow',
    examples: [example('', `${LIMIT}`, anyWindow(LIMIT))],
    exact: 'whole ms',
  },
  {
    when: '`slidingWindow`',
    passes: 'L in any window',
    formula: 'anyWindow',
    examples: [example('', `${LIMIT}`, anyWindow(LIMIT))],
    exact:
      'strict: units taken in one part (1/60 of the window by default) come back together, a ' +
      'window after its end, so at least 60/61 of the limit can be used; exact where the limit is ' +
      'at most parts + 1',
  },
  {
    when: '`slidingCounter`',
    passes: 'L if requests are spread evenly; less than 2 × L if they are timed to its windows',
    formula: 'aimedAtGrid',
    examples: [example('', `2 × ${LIMIT} - 1`, aimedAtGrid(LIMIT))],
    exact: 'an estimate by design',
  },
]

export function algorithmsText(): string {
  const rows = algorithmRows.map(({ when, passes, examples, exact }) => [
    when,
    passes,
    examples.map(textOf).join('; '),
    exact,
  ])
  return tableOf(['policy', 'passes at most', `for L = ${LIMIT}`, 'how exact'], rows)
}
