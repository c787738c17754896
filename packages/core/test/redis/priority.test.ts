// Classes of requests on a real Redis; limiter/priority.test.ts and layers/leases.test.ts have what
// they mean.

import { seedOf, stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RateLimiter, slidingLog } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import {
  priorityWalks,
  type Sums,
  takePriorityWalk,
  walkedPolicies,
} from '../limiter/priority-walk.js'
import { newName, notedStore, singleClient, strictStore } from './clients.js'

test.each(Object.entries(walkedPolicies))(
  'whatever is requested, a class takes nothing of what it leaves to others: %s, on Redis',
  async (name, policiesOf) => {
    const clock = fakeClock()
    const leases = { units: 50, holdMs: 1_000 }
    const store = strictStore(singleClient(), { clock, leases, instances: 1 })
    const sums: Sums = { denied: 0, kept: 0 }
    const walks = priorityWalks(name.includes('beside') ? 2 : 1)
    await fc.assert(
      fc.asyncProperty(walks, async (walk) => {
        const policies = policiesOf(walk.limits)
        await takePriorityWalk({ walk, policies, store, clock, name: newName() }, sums)
      }),
      { numRuns: stepsOf(4, 400), seed: seedOf(1) },
    )
    expect(sums.kept).toBeGreaterThan(0)
    await store.close()
  },
)

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
