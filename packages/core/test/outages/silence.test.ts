// A silent connection is given up, so that a new one is made, perhaps to another host. The
// contracts of connections (internal/fleet) say when, with a server and with a Cluster.

import { startCluster, startProxy, startRedis, waitUntil } from '@weir/testkit'
import { Cluster, Redis } from 'ioredis'
import { expect, type TestContext, test } from 'vitest'
import {
  fixedWindow,
  RateLimiter,
  type RedisStoreOptions,
  recommendedClusterOptions,
  recommendedRedisOptions,
  redisStore,
} from '../../src/index.js'

const policy = fixedWindow({ name: 'p', limit: 1_000_000, window: '1h' })

/** Notes what is to be closed when a test ends, last first. */
type Ends = (close: () => unknown) => void

const endsOf =
  ({ onTestFinished }: TestContext): Ends =>
  (close) =>
    onTestFinished(async () => void (await close()))

/** Requests a key every 20 ms until it is ended. */
function asking(limiter: RateLimiter, keys: readonly string[], ends: Ends): void {
  const timer = setInterval(() => {
    for (const key of keys) limiter.consume(key).catch(() => {})
  }, 20)
  ends(() => clearInterval(timer))
}

/** Without heartbeats. */
const ALONE = { instances: 1 }

/** A limiter on a Redis behind a proxy, which has decided once. */
async function behindProxy(ends: Ends, options: RedisStoreOptions, more: object = {}) {
  const server = await startRedis()
  ends(() => server.stop())
  const proxy = await startProxy(server.port)
  ends(() => proxy.stop())
  const client = new Redis(proxy.port, { ...recommendedRedisOptions, ...more })
  client.on('error', () => {})
  ends(() => client.disconnect())
  const store = redisStore(client, options)
  ends(() => store.close())
  const limiter = new RateLimiter({ store, policy })
  // On a busy machine, the first request may take longer than its deadline.
  await waitUntil('Redis decides', async () => (await limiter.consume('k')).source === 'store')
  expect(proxy.stats.connections).toBe(1)
  return { proxy, limiter }
}

test.concurrent('a silent connection is given up even if commands time out sooner', async (context) => {
  const ends = endsOf(context)
  const { proxy, limiter } = await behindProxy(ends, ALONE, { commandTimeout: 200 })
  await proxy.set('blackhole')
  asking(limiter, ['k'], ends)
  await waitUntil('a new connection', async () => proxy.stats.connections >= 2)
})

test.concurrent('a silent connection is given up by heartbeats, without requests', async (context) => {
  const ends = endsOf(context)
  const { proxy } = await behindProxy(ends, {})
  await proxy.set('blackhole')
  await waitUntil('a new connection', async () => proxy.stats.connections >= 2)
})

test('a node of a Cluster that is silent while clients start is given up, so that they start again', async (context) => {
  const ends = endsOf(context)
  const servers = await startCluster({ masters: 3, replicas: 0 })
  ends(() => servers.stop())
  const silent = servers.masters[0]
  silent?.kill('SIGSTOP')
  const nodes = servers.ports.map((port) => ({ host: '127.0.0.1', port }))
  // Each asks a random master for the state of the Cluster: one in three asks the silent one.
  const ended = new Set<Cluster>()
  const clients = Array.from({ length: 16 }, (_, i) => {
    const client = new Cluster(nodes, recommendedClusterOptions).on('error', () => {})
    ends(() => client.disconnect())
    const store = redisStore(client, { instances: 1 })
    ends(() => store.close())
    asking(new RateLimiter({ name: `client-${i}`, store, policy }), ['k'], ends)
    for (const event of ['ready', 'close']) client.once(event, () => ended.add(client))
    return client
  })
  await waitUntil('all are ready, or begin again', async () => ended.size === clients.length)
  silent?.kill('SIGCONT')
  await waitUntil('all are ready', async () => clients.every(({ status }) => status === 'ready'))
})
