// The fault matrix in its short form: the same rows and the same figures as `pnpm faults`, in less time.
import { describe, expect, test } from 'vitest'
import { judge } from '../src/judge.js'
import { SHORT } from '../src/outage.js'
import { line } from '../src/report.js'
import { idOf, type Row } from '../src/row.js'
import { rows } from '../src/rows.js'

async function passes(row: Row): Promise<void> {
  const verdict = await judge(row, SHORT)
  if (verdict.note !== undefined) console.warn(line(verdict))
  if (verdict.state === 'failed') expect.fail(line(verdict))
}

describe('faults', () => {
  for (const row of rows.filter(({ alone }) => !alone)) {
    test.concurrent(`${idOf(row)}: ${row.fault}`, () => passes(row))
  }
})

describe('faults that need the machine for themselves', () => {
  for (const row of rows.filter(({ alone }) => alone)) test(`${idOf(row)}: ${row.fault}`, () => passes(row))
})
