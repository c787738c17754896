// A reset in Redis forgets the counters of its key, and what the process remembers of them does not
// bring them back.

import { describe, expect, test } from 'vitest'
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
import { clusterClient, singleClient, strictStore } from './clients.js'

describe.each([
  ['a single server', singleClient()],
  ['a Cluster', clusterClient()],
])('on %s', (where, client) => {
  test('a reset of a key leaves a shared counter, and a reset of the shared key leaves the others', async () => {
    const store = strictStore(client, { instances: 1 })
    const losses: unknown[] = []
    store.on('data-loss', (loss) => losses.push(loss))
    const limiter = new RateLimiter({
      name: `resets-${where.length}-${Date.now().toString(36)}`,
      store,
      policy: [
        slidingLog({ name: 'own', limit: 2, window: '1h' }),
        { policy: fixedWindow({ name: 'shared', limit: 5, window: '1h' }), key: 'all' },
      ],
    })
    const left = async () => (await limiter.peek(1)).policies.map(({ remaining }) => remaining)
    for (let i = 0; i < 2; i += 1) expect((await limiter.consume(1)).allowed).toBe(true)
    expect((await limiter.consume(1)).allowed).toBe(false)
    expect(await left()).toEqual([0, 3])
    await limiter.reset(1)
    expect(await left()).toEqual([2, 3])
    expect((await limiter.consume(1)).allowed).toBe(true)
    expect(await left()).toEqual([1, 2])
    await limiter.reset('all')
    expect(await left()).toEqual([1, 5])
    expect((await limiter.consume(1)).allowed).toBe(true)
    // Everything that earlier answers set off has ended with this one.
    expect(await left()).toEqual([0, 4])
    expect(losses).toEqual([])
    await store.close()
  })
})

describe('memory and Redis give back the same, whatever was reset before and however the clock steps', () => {
  test.each<[string, Policy]>([
    ['a fixed window', fixedWindow({ limit: 10, window: '1h' })],
    ['an aligned one', fixedWindow({ limit: 10, window: '1h', aligned: true })],
    ['an exact log', slidingLog({ limit: 10, window: '1h' })],
    ['a bucket', tokenBucket({ capacity: 10, refill: 1, every: '1s' })],
  ])('%s', async (_, policy) => {
    const random = randomFrom(1)
    const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1))
    for (let walk = 0; walk < 15; walk += 1) {
      const clock = fakeClock()
      const stores: Store[] = [
        memoryStore({ clock }),
        strictStore(singleClient(), { clock, instances: 1, denyCache: false }),
      ]
      const name = `same-${process.pid}-${Date.now()}-${walk}`
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
        const left = await Promise.all(
          limiters.map(async (limiter, i) => {
            if (what === 'reset') await limiter.reset('k')
            if (what === 'refund' && charged.length > 0)
              await limiter.refund((charged[from] as Decision[])[i] as Decision)
            if (what === 'consume') {
              const decision = await limiter.consume('k', { cost })
              if (i === 0) charged.push([])
              ;(charged.at(-1) as Decision[])[i] = decision
            }
            return (await limiter.peek('k')).remaining
          }),
        )
        expect(left[1], steps.join('; ')).toBe(left[0])
      }
      for (const store of stores) await store.close?.()
    }
  })
})
