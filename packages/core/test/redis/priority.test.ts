// Classes of requests on a real Redis; limiter/priority.test.ts and layers/leases.test.ts have what
// they mean.

import { expect, test } from 'vitest'
import { RateLimiter, slidingLog } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { newName, notedStore } from './clients.js'

test('requests of all classes of one turn are one call, equal ones one entry, each with its own answer', async () => {
  const { store, calls } = notedStore({ instances: 1, clock: fakeClock() })
  const policy = slidingLog({ limit: 10, window: '1m' })
  const limiter = new RateLimiter({ name: newName(), store, policy, reserve: { batch: 0.5 } })
  await limiter.consume('warm', { priority: 'batch' })
  calls.length = 0
  const asked = Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? 'batch' : 'critical'))
  const decisions = await Promise.all(asked.map((priority) => limiter.consume('k', { priority })))
  expect(calls.map((args) => args[1])).toEqual(['2'])
  // In the order of their first requests.
  for (const of of ['batch', 'critical']) {
    const own = decisions.filter(({ priority }) => priority === of)
    expect(own.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      ...Array.from({ length: 5 }, (_, i) => [true, 4 - i]),
      ...Array(3).fill([false, 0]),
    ])
  }
  await store.close()
})
