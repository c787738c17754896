// The fault matrix in its short form: fewer rows than `pnpm faults`, with the same bounds, in less
// time. Rows that need the machine for themselves are in calm.test.ts.
import { expect, type TestContext, test } from 'vitest'
import { judge, judgeAgain, type Verdict } from '../../src/faults/judge.js'
import { SHORT } from '../../src/faults/outage.js'
import { line } from '../../src/faults/report.js'
import { idOf, type Row } from '../../src/faults/row.js'
import { rows } from '../../src/faults/rows.js'

/**
 * Rows run three at once, and on a busy machine one may keep another from being judged.
 */
const unjudged: Verdict[] = []

async function passes(row: Row, { skip }: TestContext): Promise<void> {
  const verdict = await judge(row, SHORT)
  if (verdict.state === 'not judged') {
    unjudged.push(verdict)
    skip(verdict.note)
  }
  told(verdict)
}

function told(verdict: Verdict): void {
  if (verdict.note !== undefined) console.log(line(verdict))
  if (verdict.state !== 'passed') expect.fail(line(verdict))
}

for (const row of rows.filter(({ fullOnly, alone }) => !fullOnly && !alone))
  test.concurrent(`${idOf(row)}: ${row.fault}`, (context) => passes(row, context))

// A row that a busy machine left unjudged has not passed. If the machine is too busy even for that
// row alone, the test fails.
test('rows that were skipped pass when run alone', { timeout: 15 * 60_000 }, async () => {
  const failed: string[] = []
  for (const verdict of unjudged) {
    const again = await judgeAgain(verdict, SHORT)
    console.log(line(again))
    if (again.state !== 'passed') failed.push(line(again))
  }
  expect(failed.join('\n')).toBe('')
})
