// The results while Redis failed, as tables: all for results/tested.md, the least and the most for
// docs/compat.md.

import type { Incumbent } from './incumbent.js'
import { type Measured, OUTAGES } from './outage.js'

export function outageTable(
  incumbents: readonly Incumbent[],
  measured: ReadonlyMap<string, Measured>,
): string {
  const lines = incumbents.flatMap(({ name, own, versions }) =>
    (['own', 'weir'] as const).map((kind) => {
      const cells = Object.keys(OUTAGES).map((outage) =>
        cellOf(measured.get(`${name} ${kind} ${outage}`)),
      )
      const counts = kind === 'own' ? own : "Weir's"
      return `| ${name} ${versions[0]?.version} | ${counts} | ${cells.join(' | ')} |`
    }),
  )
  const head = `| limiter | counted by | ${Object.values(OUTAGES).join(' | ')} |`
  return `${[head, '|---|---|---|---|---|', ...lines].join('\n')}\n`
}

function cellOf(measured: Measured | undefined): string {
  if (measured === undefined) return '-'
  const { healthyMs, longestMs, failed, unanswered, admitted } = measured
  const never = unanswered === 0 ? '' : `, ${unanswered} unanswered`
  const times = `${ms(longestMs)} ms (${ms(healthyMs)} before)`
  return `${times}; ${failed} failed${never}; ${admitted} passed`
}

function ms(time: number): string {
  return Math.round(time).toLocaleString('en')
}

const CELL = /^([\d,]+) ms .*; (\d+) failed(?:, (\d+) unanswered)?; (\d+) passed$/

/** The least and the most, in one row for the limiters' own stores and one for Weir's. */
export function outageSummary(table: string): string {
  const rows = table.split('\n').map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  const isWeir = (cells: readonly string[]): boolean => cells[1] === "Weir's"
  const measured = rows.slice(2).filter((cells) => cells.length > 2)
  const own = rangesOf(measured.filter((cells) => !isWeir(cells)))
  const weir = rangesOf(measured.filter(isWeir))
  return `| counted by | ${Object.values(OUTAGES).join(' | ')} |
|---|---|---|---|
| the limiters' own stores | ${own.join(' | ')} |
| Weir's | ${weir.join(' | ')} |
`
}

/** A cell for each outage. */
function rangesOf(rows: readonly (readonly string[])[]): string[] {
  return Object.keys(OUTAGES).map((_, i) => {
    const found = rows.map((cells) => CELL.exec(cells[i + 2] as string) as RegExpExecArray)
    const times = found.map((match) => Number(match[1]?.replaceAll(',', '')))
    const failed = found.map((match) => Number(match[2]) + Number(match[3] ?? 0))
    const passed = found.map((match) => Number(match[4]))
    return `${range(times)} ms; ${range(failed)} failed; ${range(passed)} passed`
  })
}

function range(numbers: readonly number[]): string {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)]
  return least === most ? ms(least) : `${ms(least)} to ${ms(most)}`
}
