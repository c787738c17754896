// What clients of each adapter see while Redis is killed or frozen: over HTTP, with the load and
// the outages under which other limiters are measured (packages/compat).

import { judged } from '@weir/testkit'
import { describe, expect, test } from 'vitest'
import type { Counting, Incumbent } from '../../../../packages/compat/test/incumbents/incumbent.js'
import { measure, SHORT } from '../../../../packages/compat/test/incumbents/outage.js'
import { adapters } from '../../../behaviour/test/servers/adapters.js'
import type { AdapterKind, Settings } from '../../../behaviour/test/servers/kind.js'

/** The deadline of the store is 100 ms. */
const LONGER_MS = 150

function settingsOf(counting: Counting, options: object): Settings {
  if (counting.kind === 'own') throw new Error('an adapter counts in a store of Weir')
  const { store, name } = counting
  return { store, name, ...(options as { limit: number; window: number }) }
}

const limited = (adapter: AdapterKind): Incumbent => ({
  name: adapter.name,
  own: 'none',
  client: () => {
    throw new Error('it has no store of its own')
  },
  versions: [
    {
      version: 'present',
      serve: (counting, options) =>
        adapter.start({ limiters: [settingsOf(counting, options)] }),
    },
  ],
  behaviours: [],
  limitedTo: (limit, window) => ({ limit, window }),
  passed: 200,
})

describe.each(adapters)('$name', (adapter) => {
  test.concurrent.each(['killed', 'frozen'] as const)(
    'while Redis is %s, requests are in time, none fails, and the limit holds',
    (outage) =>
      judged(async () => {
        const measured = await measure(limited(adapter), 'weir', outage, SHORT)
        const { healthyMs, longestMs, failed, unanswered, admitted } = measured
        expect({ failed, unanswered }).toEqual({ failed: 0, unanswered: 0 })
        expect(longestMs).toBeLessThan(healthyMs + LONGER_MS)
        expect(admitted).toBeGreaterThanOrEqual(SHORT.limit)
        expect(admitted).toBeLessThanOrEqual(2 * SHORT.limit)
      }),
  )
})
