// A silent connection is given up, so that a new one is made, perhaps to another host. (GLIDE
// cannot be told to.) Tests that wait most of the time run at once.

import { setTimeout as forMs } from 'node:timers/promises'
import { type RedisStoreOptions, recommendedRedisOptions, redisStore } from '@weir/core'
import { fromNodeRedis, recommendedNodeRedisOptions } from '@weir/core/node-redis'
import { type RedisServer, startCluster, startProxy, startRedis, waitUntil } from '@weir/testkit'
import { Redis } from 'iovalkey'
import * as redis from 'redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nodeRedisClient, nodeRedisCluster } from '../node-redis.js'
import { ALONE, asking, type Given, limiterOn, redisDecides } from '../other-clients.js'
import { attempt, type Ends } from './attempt.js'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

/** A client that is connected to this port. */
type Connect = (port: number, ends: Ends) => Promise<Given>

async function nodeRedis(port: number, ends: Ends): Promise<Given> {
  const client = nodeRedisClient(redis, port, recommendedNodeRedisOptions)
  ends(() => client.destroy())
  await client.connect()
  return fromNodeRedis(client)
}

async function iovalkey(port: number, ends: Ends): Promise<Given> {
  const client = new Redis(port, recommendedRedisOptions).on('error', () => {})
  ends(() => client.disconnect())
  return client
}

/** A limiter on a Redis behind a proxy, which has decided once. */
async function behindProxy(connect: Connect, ends: Ends, options: RedisStoreOptions = {}) {
  const proxy = await startProxy(server.port)
  ends(() => proxy.stop())
  const store = redisStore(await connect(proxy.port, ends), { ...ALONE, ...options })
  ends(() => store.close())
  const limiter = limiterOn(store)
  await redisDecides(limiter)
  expect(proxy.stats.connections).toBe(1)
  return { proxy, limiter }
}

/**
 * A connection is looked at when a command is sent on it, at most twice a second. When the breaker
 * has opened, only probes are sent: an early one at most 400 ms after the last, later ones 1,100.
 * So the look that sees the last reply may be 500 + 400 ms late, and the one that ends the silence
 * 1,100 ms. Then the client waits for up to 100 ms before it connects again.
 */
const WITHIN_MS = 500 + 400 + 1_100 + 100

test.concurrent.each([
  // The client itself gives up the next connection, which is not greeted.
  ['node-redis, and the next one after five', nodeRedis, [1_000, 6_000]],
  ['iovalkey', iovalkey, [1_000]],
] as const)('it is given up after a second: %s', (_, connect, times) =>
  attempt(async (ends) => {
    const { proxy, limiter } = await behindProxy(connect, ends)
    await proxy.set('blackhole')
    const startedMs = performance.now()
    ends(asking(limiter))
    for (const [i, afterMs] of times.entries()) {
      await waitUntil('a new connection', async () => proxy.stats.connections >= i + 2)
      const tookMs = performance.now() - startedMs
      expect(tookMs).toBeGreaterThan(afterMs - 100)
      expect(tookMs).toBeLessThan(afterMs + WITHIN_MS)
    }
    await proxy.set('pass')
    await waitUntil('Redis decides', async () => (await limiter.peek('k')).source === 'store')
  })(),
)

test.concurrent(
  'with node-redis, it is kept if a reply may take longer',
  attempt(async (ends) => {
    const { proxy, limiter } = await behindProxy(nodeRedis, ends, { deadlineMs: 5_000 })
    await proxy.set('blackhole')
    ends(asking(limiter))
    await forMs(2_000)
    expect(proxy.stats.connections).toBe(1)
  }),
)

test.concurrent(
  'with node-redis, it is kept if replies are slow',
  attempt(async (ends) => {
    const { proxy, limiter } = await behindProxy(nodeRedis, ends)
    await proxy.set({ latencyMs: 350 })
    ends(asking(limiter))
    const sent = async () => (proxy.stats.commands.get('EVALSHA') ?? 0) > 8
    await waitUntil('many late replies', sent)
    await forMs(2_000)
    expect(proxy.stats.connections).toBe(1)
  }),
)

test(
  'with node-redis, that to a silent node of a Cluster is given up, and the others are kept',
  attempt(async (ends) => {
    const servers = await startCluster({ masters: 3, replicas: 0 })
    ends(() => servers.stop())
    const client = nodeRedisCluster(redis, servers.ports)
    ends(() => client.destroy())
    await client.connect()
    const store = redisStore(fromNodeRedis(client), ALONE)
    ends(() => store.close())
    const limiter = limiterOn(store)
    const keys = Array.from({ length: 30 }, (_, i) => `k${i}`)
    await Promise.all(keys.map((key) => limiter.consume(key)))
    const silent = servers.masters[0]
    const closed: (number | undefined)[] = []
    for (const { client: node, port } of client.masters) node?.on('end', () => closed.push(port))
    silent?.kill('SIGSTOP')
    ends(asking(limiter, keys))
    await waitUntil('it is given up', async () => closed.length > 0)
    silent?.kill('SIGCONT')
    await waitUntil('all decide', async () => {
      const decisions = await Promise.all(keys.map((key) => limiter.peek(key)))
      return decisions.every(({ source }) => source === 'store')
    })
    expect(closed).toEqual([silent?.port])
  }),
)

test(
  'with node-redis, it is kept if the event loop was blocked',
  attempt(async (ends) => {
    const { proxy, limiter } = await behindProxy(nodeRedis, ends)
    const before = limiter.consume('before')
    await Promise.resolve()
    const endMs = performance.now() + 1_500
    while (performance.now() < endMs);
    // Enough for a full call, which is sent before the reply is read.
    const keys = Array.from({ length: 40 }, (_, i) => `after${i}`)
    await Promise.all([before, ...keys.map((key) => limiter.consume(key))])
    await redisDecides(limiter)
    expect(proxy.stats.connections).toBe(1)
  }),
)
