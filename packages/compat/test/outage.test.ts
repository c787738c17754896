// What users of an incumbent experience while Redis is frozen, killed, and restarted. `npm run
// tables:write` measures the table in docs/compat.md, in a longer form.

import { isWeekly, judged } from '@weir/testkit'
import { expect, test } from 'vitest'
import { INCUMBENTS } from './incumbents/all.js'
import type { Counting } from './incumbents/incumbent.js'
import { FULL, type Measured, measure, OUTAGES, type Outage, SHORT } from './incumbents/outage.js'
import { outageTable, type Results } from './incumbents/outage-table.js'
import { between, writes } from './page.js'

/** The deadline of the store is 100 ms. */
const LONGER_MS = 150
const outages = Object.keys(OUTAGES) as Outage[]

for (const [i, incumbent] of INCUMBENTS.entries()) {
  // Weir's store decides what users see of an outage, so that for each change it is tried under one
  // of them.
  for (const outage of isWeekly || i === 0 ? outages : []) {
    test(`under ${incumbent.name} requests are in time, none fails, and the limit holds, while Redis is ${OUTAGES[outage]}`, () =>
      judged(async () => {
        const { healthyMs, longestMs, failed, unanswered, admitted } = await measure(
          incumbent,
          'weir',
          outage,
          SHORT,
        )
        expect({ failed, unanswered }).toEqual({ failed: 0, unanswered: 0 })
        expect(longestMs).toBeLessThan(healthyMs + LONGER_MS)
        expect(admitted).toBeGreaterThanOrEqual(SHORT.limit)
        expect(admitted).toBeLessThanOrEqual(2 * SHORT.limit)
      }))
  }
}

if (writes) test('docs/compat.md has the measured results', { timeout: 3_600_000 }, write)

async function write(): Promise<void> {
  await between('outages', outageTable(await resultsOf('own'), await resultsOf('weir')))
}

async function resultsOf(kind: Counting['kind']): Promise<Results> {
  const results = new Map<Outage, Measured[]>()
  for (const outage of outages) {
    const found: Measured[] = []
    results.set(outage, found)
    for (const incumbent of INCUMBENTS) {
      const measured = await measure(incumbent, kind, outage, FULL)
      found.push(measured)
      console.log(incumbent.name, kind, outage, measured)
    }
  }
  return results
}
