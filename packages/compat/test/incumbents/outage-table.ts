// What was measured while Redis failed, as a table for docs/compat-tested.md.

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
