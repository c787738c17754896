// The option `hashKeys`: what reaches Redis does not reveal who is limited. That limits hold is
// shown by conformance.test.ts.

import { startRedis } from '@weir/testkit'
import { describe, expect, test } from 'vitest'
import { RateLimiter, slidingLog, tokenBucket } from '../../src/index.js'
import { clusterClient, newName, singleClient, strictStore } from './clients.js'
import { patientClient } from './patient.js'

const SECRET = 'a secret of the tests'
const policy = slidingLog({ name: 'p', limit: 2, window: '1h' })

function limiterWith(hashKeys: string, name: string): RateLimiter {
  const store = strictStore(singleClient(), { hashKeys, instances: 1 })
  return new RateLimiter({ name, store, policy, shared: true })
}

describe('with a secret', () => {
  test('no argument of any command, and no key, contains the text of a key', async () => {
    const server = await startRedis()
    const client = await patientClient(server.port)
    const watcher = await client.monitor()
    const seen: string[] = []
    watcher.on('monitor', (_time: string, args: string[]) => seen.push(args.join(' ')))
    try {
      const store = strictStore(client, { hashKeys: SECRET })
      const bucket = tokenBucket({ name: 'q', capacity: 9, refill: 1, every: '1m' })
      const log = slidingLog({ name: 'r', limit: 9, window: '1m' })
      const uses = [
        policy,
        { policy: bucket, key: 'carol' },
        { policy: log, key: 'dave', tag: 'carol' },
      ]
      const limiter = new RateLimiter({ name: 'hashed', store, policy: uses })
      const decision = await limiter.consume('alice')
      await limiter.refund(decision)
      await limiter.penalty('bob@example.org')
      await limiter.peek('alice')
      await limiter.reset('bob@example.org')
      await store.close()
      await client.ping()
      const all = [...seen, ...(await client.keys('*'))]
      expect(all.length).toBeGreaterThan(10)
      expect(all.filter((text) => /alice|bob|example|carol|dave/.test(text))).toEqual([])
    } finally {
      watcher.disconnect()
      client.disconnect()
      await server.stop()
    }
  })

  test('processes with the same secret share counters, and others do not', async () => {
    const name = newName()
    await limiterWith(SECRET, name).consume('u42')
    expect((await limiterWith(SECRET, name).consume('u42')).remaining).toBe(0)
    expect((await limiterWith(`${SECRET}!`, name).consume('u42')).remaining).toBe(1)
  })

  test('keys with the same tag are in one slot of a Cluster', async () => {
    const store = strictStore(clusterClient(), { hashKeys: SECRET, instances: 1 })
    const own = slidingLog({ name: 'own', limit: 3, window: '1h' })
    const limiter = new RateLimiter({
      name: newName(),
      store,
      policy: [policy, { policy: own, key: 'everybody', tag: 'u42' }],
    })
    expect((await limiter.consume('u42')).policies.map(({ remaining }) => remaining)).toEqual([
      1, 2,
    ])
  })
})
