// How a row is judged, with rows that need no server.
import { expect, test } from 'vitest'
import { type Check, countAtMost, msAtMost } from '../../src/faults/checks.js'
import { judge } from '../../src/faults/judge.js'
import { SHORT } from '../../src/faults/outage.js'
import type { Row } from '../../src/faults/row.js'
import type { Stage } from '../../src/faults/stage.js'

const quick = msAtMost('max', 5, 150)
const late = msAtMost('max', 500, 150)
const tooMany = countAtMost('over', 201, 200)

/**
 * A row whose runs end like this, one after another; `starved` means that the machine was busy.
 */
function row(
  ...runs: { readonly checks: readonly Check[]; readonly starved?: boolean }[]
): Row & { ran: number } {
  const made = {
    number: '0',
    fault: '',
    must: '',
    ran: 0,
    run: async (stage: Stage): Promise<readonly Check[]> => {
      const run = runs[made.ran]
      made.ran += 1
      if (run?.starved) stage.stalls.push({ at: 0, ms: 200, ownMs: 0 })
      return run?.checks ?? []
    },
  }
  return made
}

test('a late answer on a busy machine gets a second run, and the verdict says so', async () => {
  const verdict = await judge(row({ checks: [late], starved: true }, { checks: [quick] }), SHORT)
  expect(verdict).toMatchObject({ state: 'passed', note: expect.stringContaining('200 ms') })
})

test('two late runs on a busy machine are not judged, two on an idle one fail', async () => {
  const busy = { checks: [late], starved: true }
  expect(await judge(row(busy, busy), SHORT)).toMatchObject({ state: 'not judged' })
  expect(await judge(row(busy, { checks: [late] }), SHORT)).toMatchObject({ state: 'failed' })
})

test('a wrong count fails at once, or on a busy machine when it is no longer busy', async () => {
  const failing = row({ checks: [tooMany] })
  expect(await judge(failing, SHORT)).toMatchObject({ state: 'failed' })
  expect(failing.ran).toBe(1)
  const second = row({ checks: [late, tooMany], starved: true }, { checks: [tooMany] })
  expect(await judge(second, SHORT)).toMatchObject({ state: 'failed' })
})
