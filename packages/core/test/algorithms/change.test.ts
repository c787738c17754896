// Settings that change under one name, in memory and in a process that decides without its store.
// For Redis see redis/differential.test.ts, whose walks change policies as well.

import { seedOf, stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js'
import { Fallback } from '../../src/layers/resilience/fallback.js'
import type { Peers } from '../../src/layers/resilience/peers.js'
import { fakeClock } from '../../src/testing/index.js'
import { virtualTime } from '../virtual-time.js'
import { makers, recipes, takeChanges } from './change-walk.js'

const STEPS = stepsOf(10_000, 500_000) / Object.keys(makers).length
const SEED = seedOf(1)

describe.each(Object.entries(makers))('%s', (_, make) => {
  test('without the store: the same, while the number of peers changes', async () => {
    let steps = 0
    const property = fc.asyncProperty(
      recipes,
      fc.uniqueArray(fc.nat(5), { minLength: 1 }).map((some) => some.sort()),
      async (recipe, counts) => {
        let nowUs = 0
        let asked = 0
        const peers = (): Peers => {
          const count = 1 + (counts[Math.floor(asked / 8) % counts.length] as number)
          return { count, rank: asked % count }
        }
        const clock = { nowUs: () => nowUs || 1_800_000_000_000_000 }
        const when = { whenUnavailable: 'local', maxLocalKeys: 1_000 } as const
        const fallback = new Fallback({ ...when, time: virtualTime(), clock, peers })
        steps += await takeChanges(recipe, make, (_process, request, atUs) => {
          nowUs = atUs
          asked += 1
          return fallback.decide(request, undefined, new Error('away'), 0).granted > 0
        })
        fallback.close()
      },
    )
    while (steps < STEPS) await fc.assert(property, { numRuns: 10, seed: SEED + steps })
    expect(steps).toBeGreaterThanOrEqual(STEPS)
  })
})

describe('what docs/algorithms.md says about a plan that changes', () => {
  const windows = [slidingWindow, slidingLog, slidingCounter, fixedWindow].map((make) => {
    return [make.name, (limit: number) => make({ limit, window: '1m' })] as const
  })
  const all = [
    ...windows,
    [
      'tokenBucket',
      (limit: number) => tokenBucket({ capacity: limit, refill: limit, every: '1m' }),
    ] as const,
  ]

  async function changed(make: (limit: number) => Policy, from: number, used: number, to: number) {
    // The grid of a sliding counter begins here.
    const clock = fakeClock(1_800_000_000_000)
    const limiter = new RateLimiter({
      name: 'plan',
      store: memoryStore({ clock }),
      policy: make(from),
    })
    await limiter.consume('k', { cost: used })
    const { remaining, policies } = await limiter.peek('k', { policy: make(to) })
    return [remaining, policies[0]?.retryAfterMs]
  }

  test.each(all)('%s, from 1,000 to 100 a minute, when 600 were used', async (name, make) => {
    const waits: Record<string, number> = { slidingCounter: 110_100, slidingWindow: 60_999 }
    const expected = name === 'tokenBucket' ? [40, 0] : [0, waits[name] ?? 60_000]
    expect(await changed(make, 1_000, 600, 100)).toEqual(expected)
  })
})
