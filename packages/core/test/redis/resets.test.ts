// Resets, refunds and steps of the clock in any order: Redis gives back what memory does. No random
// walk of differential.test.ts has resets.

import { expect, test } from 'vitest'
import {
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  type Store,
  slidingLog,
  tokenBucket,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { randomFrom } from '../virtual-time.js'
import { newName, singleClient, strictStore } from './clients.js'

test.each<[string, Policy]>([
  ['a fixed window', fixedWindow({ limit: 10, window: '1h' })],
  ['an aligned one', fixedWindow({ limit: 10, window: '1h', aligned: true })],
  ['an exact log', slidingLog({ limit: 10, window: '1h' })],
  ['a bucket', tokenBucket({ capacity: 10, refill: 1, every: '1s' })],
])('memory and Redis give back the same: %s', async (_, policy) => {
  const random = randomFrom(1)
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
  for (let walk = 0; walk < 15; walk += 1) {
    const clock = fakeClock()
    const stores: Store[] = [
      memoryStore({ clock }),
      strictStore(singleClient(), { clock, instances: 1, denyCache: false }),
    ]
    const name = newName()
    const limiters = stores.map((store) => new RateLimiter({ name, store, policy }))
    const charged: Decision[][] = []
    const steps: string[] = []
    for (let step = 0; step < 12; step += 1) {
      const ms = [0, 0, 1, 1, 900, -1, -40, -1_000][between(0, 7)] as number
      const what = ['reset', 'consume', 'consume', 'refund'][between(0, 3)] as string
      const cost = between(1, 4)
      const from = between(0, charged.length - 1)
      clock.advance(ms)
      steps.push(`${ms} ms, ${what} ${cost}`)
      const made: Decision[] = []
      const left = await Promise.all(
        limiters.map(async (limiter, i) => {
          if (what === 'reset') await limiter.reset('k')
          const decision = charged[from]?.[i]
          if (what === 'refund' && decision !== undefined) await limiter.refund(decision)
          if (what === 'consume') made[i] = await limiter.consume('k', { cost })
          return (await limiter.peek('k')).remaining
        }),
      )
      if (made.length > 0) charged.push(made)
      expect(left[1], steps.join('; ')).toBe(left[0])
    }
    for (const store of stores) await store.close?.()
  }
})
