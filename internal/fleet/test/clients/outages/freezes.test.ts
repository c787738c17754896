// Redis, or a node of it, freezes or is slow, and goes on: nothing is counted twice, and nothing is
// left behind.

import { setTimeout as forMs } from 'node:timers/promises'
import { redisStore } from '@weir/core'
import { fromGlide, recommendedGlideOptions } from '@weir/core/glide'
import { fromNodeRedis } from '@weir/core/node-redis'
import { type RedisServer, startCluster, startProxy, startRedis, waitUntil } from '@weir/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { glideClient, glideCluster } from '../glide.js'
import { nodeRedisClient, VERSIONS } from '../node-redis.js'
import { ALONE, limiterOn, redisDecides } from '../other-clients.js'
import { attempt, type Ends } from './attempt.js'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

async function glideStore(port: number, ends: Ends) {
  const client = await glideClient(port)
  ends(() => client.close())
  const store = redisStore(fromGlide(client), ALONE)
  ends(() => store.close())
  return store
}

test(
  'a freeze leaves one connection of node-redis, and a client that was destroyed during it stays so',
  attempt(async (ends) => {
    const clients = VERSIONS.flatMap(([, library]) =>
      [true, false].map((isKept) => ({ isKept, client: nodeRedisClient(library, server.port) })),
    )
    const stores = clients.map(({ client }) => redisStore(fromNodeRedis(client), ALONE))
    const limiters = stores.map((store) => limiterOn(store))
    for (const [i, { client }] of clients.entries()) {
      ends(() => client.isOpen && client.destroy())
      ends(() => stores[i]?.close())
      await client.connect()
    }
    const ask = () => Promise.all(limiters.map((limiter) => limiter.consume('k')))
    await waitUntil('Redis decides', async () => (await ask()).every((d) => d.source === 'store'))
    ends(() => server.kill('SIGCONT'))
    server.kill('SIGSTOP')
    const untilMs = performance.now() + 4_000
    while (performance.now() < untilMs) await Promise.all([ask(), forMs(50)])
    for (const { client, isKept } of clients) if (!isKept) client.destroy()
    await forMs(1_500)
    server.kill('SIGCONT')
    await waitUntil('Redis decides', async () => {
      const decisions = await ask()
      return decisions.every(({ source }, i) => !clients[i]?.isKept || source === 'store')
    })
    expect(clients.map(({ client }) => client.isOpen)).toEqual(clients.map(({ isKept }) => isKept))
    const [first] = clients
    await waitUntil('one connection of each that is kept', async () => {
      const list = (await first?.client.sendCommand(['CLIENT', 'LIST'])) as string
      return list.trim().split('\n').length === VERSIONS.length
    })
  }),
)

test(
  'late replies to GLIDE are used, and nothing is counted twice',
  attempt(async (ends) => {
    const proxy = await startProxy(server.port)
    ends(() => proxy.stop())
    const store = await glideStore(proxy.port, ends)
    const limiter = limiterOn(store)
    await redisDecides(limiter)
    const before = await limiter.peek('k')
    await proxy.set({ latencyMs: 200 })
    const asked = await Promise.all(Array.from({ length: 20 }, () => limiter.consume('k')))
    expect(asked.map(({ source }) => source)).toEqual(asked.map(() => 'local'))
    await forMs(1_000)
    await proxy.set('pass')
    await waitUntil('Redis decides', async () => (await limiter.peek('k')).source === 'store')
    await waitUntil('all is counted', async () => store.health().localKeys === 0)
    expect(before.remaining - (await limiter.peek('k')).remaining).toBe(20)
  }),
)

test(
  'one node of a Cluster freezes: with GLIDE, Redis decides the keys of the others',
  attempt(async (ends) => {
    const args = ['--cluster-require-full-coverage', 'no']
    const servers = await startCluster({ masters: 3, replicas: 0, args })
    ends(() => servers.stop())
    const client = await glideCluster(servers.ports, recommendedGlideOptions)
    ends(() => client.close())
    const store = redisStore(fromGlide(client), ALONE)
    ends(() => store.close())
    const limiter = limiterOn(store)
    const keys = Array.from({ length: 30 }, (_, i) => `k${i}`)
    const sources = async () => {
      const decisions = await Promise.all(keys.map((key) => limiter.consume(key)))
      return decisions.map(({ source }) => source)
    }
    const isStore = (source: string) => source === 'store'
    await waitUntil('all decide', async () => (await sources()).every(isStore))
    const names = store.health().nodes.map(({ name }) => name)
    expect(names.sort()).toEqual(servers.masters.map(({ port }) => `127.0.0.1:${port}`).sort())
    const [frozen] = servers.masters as [RedisServer]
    const slots = await Promise.all(keys.map((key) => frozen.command('CLUSTER', 'KEYSLOT', key)))
    const isSpared = (_: unknown, i: number) => Number(slots[i]) >= Math.floor(16_384 / 3)
    frozen.kill('SIGSTOP')
    await waitUntil('its breaker opens', async () => {
      await sources()
      return store.health().nodes.some(({ state }) => state === 'open')
    })
    for (let i = 0; i < 10; i += 1) {
      expect((await sources()).filter(isSpared).every(isStore)).toBe(true)
      await forMs(20)
    }
    frozen.kill('SIGCONT')
    await waitUntil('all decide', async () => (await sources()).every(isStore))
  }),
)
