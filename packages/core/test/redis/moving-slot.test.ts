// A slot of a Cluster that is moving: neither node can answer calls for several of its keys.

import { type RedisCluster, startCluster } from '@weir/testkit'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fixedWindow, RateLimiter, recommendedClusterOptions, redisStore } from '../../src/index.js'

let servers: RedisCluster
let client: Cluster
beforeAll(async () => {
  servers = await startCluster({ masters: 2, replicas: 0 })
  client = new Cluster(
    servers.ports.map((port) => ({ host: '127.0.0.1', port })),
    recommendedClusterOptions,
  )
  await new Promise((resolve) => client.once('ready', resolve))
})
afterAll(async () => {
  client.disconnect()
  await servers.stop()
})

test('requests for keys of a moving slot were all decided locally', async () => {
  const store = redisStore(client, { hashTags: 2, instances: 1, deadlineMs: 10_000 })
  const limiter = new RateLimiter({
    name: 'moving',
    store,
    policy: fixedWindow({ limit: 1_000, window: '1h' }),
  })
  const keys = Array.from({ length: 40 }, (_, i) => `k${i}`)
  await Promise.all(keys.map((key) => limiter.consume(key)))

  const [from, to] = servers.masters as [(typeof servers.masters)[0], (typeof servers.masters)[0]]
  const names = (await from.command('KEYS', 'weir:{t*')) as string[]
  const slot = Number(await from.command('CLUSTER', 'KEYSLOT', String(names[0])))
  const [fromId, toId] = await Promise.all(
    [from, to].map((node) => node.command('CLUSTER', 'MYID')),
  )
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(fromId))
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(toId))
  for (const name of names.slice(0, Math.floor(names.length / 2))) {
    await from.command('MIGRATE', '127.0.0.1', to.port, String(name), 0, 10_000)
  }
  for (let round = 0; round < 10; round += 1) {
    const decisions = await Promise.all(keys.map((key) => limiter.consume(key)))
    expect(decisions.filter(({ degraded }) => degraded).length).toBe(0)
    expect(decisions.map(({ remaining }) => remaining)).toEqual(keys.map(() => 998 - round))
  }
  expect(store.health().nodes.map(({ state }) => state)).toEqual(['closed', 'closed'])
  await store.close()
})
