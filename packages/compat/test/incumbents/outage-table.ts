// The results while Redis failed, as a table: the least and the most that was measured.

import { type Measured, OUTAGES, type Outage } from './outage.js'

/** What was measured under each limiter, by the outage. */
export type Results = ReadonlyMap<Outage, readonly Measured[]>

export function outageTable(own: Results, weir: Results): string {
  return `| counted by | ${Object.values(OUTAGES).join(' | ')} |
|---|---|---|---|
| the limiters' own stores | ${cellsOf(own)} |
| Weir's | ${cellsOf(weir)} |
`
}

function cellsOf(results: Results): string {
  return [...results.values()].map(cellOf).join(' | ')
}

function cellOf(found: readonly Measured[]): string {
  const times = found.map(({ longestMs }) => longestMs)
  const failed = found.map((each) => each.failed + each.unanswered)
  const passed = found.map(({ admitted }) => admitted)
  return `${range(times)} ms; ${range(failed)} failed; ${range(passed)} passed`
}

function range(numbers: readonly number[]): string {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)].map((number) =>
    Math.round(number).toLocaleString('en'),
  )
  return least === most ? `${least}` : `${least} to ${most}`
}
