// The rows of the short fault matrix that need the machine for themselves: nothing runs beside this
// file, whose step comes after all others.
import { expect, test } from 'vitest'
import { judge, judgeAgain } from '../../src/faults/judge.js'
import { SHORT } from '../../src/faults/outage.js'
import { line } from '../../src/faults/report.js'
import { idOf } from '../../src/faults/row.js'
import { rows } from '../../src/faults/rows.js'

for (const row of rows.filter(({ fullOnly, alone }) => !fullOnly && alone)) {
  test(`${idOf(row)}: ${row.fault}`, async () => {
    const first = await judge(row, SHORT)
    const verdict = first.state === 'not judged' ? await judgeAgain(first, SHORT) : first
    if (verdict.note !== undefined) console.log(line(verdict))
    if (verdict.state !== 'passed') expect.fail(line(verdict))
  })
}
