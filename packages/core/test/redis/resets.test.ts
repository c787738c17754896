// A reset in Redis forgets the counters of its key, and what the process remembers of them does not
// bring them back.

import { describe, expect, test } from 'vitest'
import { fixedWindow, RateLimiter, slidingLog } from '../../src/index.js'
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
