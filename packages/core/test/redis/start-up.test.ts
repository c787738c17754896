// The first requests of a process: Redis decides them if it can be reached in time; otherwise this
// process does.

import { createServer, type Server, type Socket } from 'node:net'
import { freePort, waitUntil } from '@weir/testkit'
import { Cluster, Redis } from 'ioredis'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { RedisLike } from '../../src/entries/store.js'
import {
  fixedWindow,
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
  recommendedClusterOptions,
  recommendedRedisOptions,
  redisStore,
} from '../../src/index.js'
import { newName } from './clients.js'
import { workerRedis } from './servers.js'

const { port, clusterPorts } = workerRedis()
const policy = fixedWindow({ name: 'p', limit: 3, window: '5m' })

beforeAll(() => {
  // Warnings of offline queues and long timeouts, which are intended here.
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  return () => warned.mockRestore()
})

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

function opened<Client extends Redis | Cluster>(client: Client): Client {
  client.on('error', () => {})
  open.push(() => client.disconnect())
  return client
}

function redis(options: object = {}, at: number = port): Redis {
  return opened(new Redis(at, { ...recommendedRedisOptions, ...options }))
}

function cluster(options: object): Cluster {
  const nodes = clusterPorts.map((each) => ({ host: '127.0.0.1', port: each }))
  return opened(new Cluster(nodes, { ...recommendedClusterOptions, ...options }))
}

function storeOn(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  const store = redisStore(client, { instances: 1, ...options })
  open.push(() => store.close())
  return store
}

test('a Cluster decides the first requests even for more keys than calls may be in flight to a node', async () => {
  const store = storeOn(cluster({}), { deadlineMs: 10_000, maxInFlight: 600 })
  const limiter = new RateLimiter({ name: newName(), store, policy })
  const keys = Array.from({ length: 1_200 }, (_, i) => `k${i}`)
  const decisions = await Promise.all(keys.map((key) => limiter.consume(key)))
  expect(decisions.filter(({ source }) => source !== 'store')).toEqual([])
  expect(store.health().nodes.map(({ name }) => name)).not.toContain('unknown')
})

test('any number of stores wait for one client, which then has no listeners of theirs', async () => {
  const client = redis({})
  const stores = Array.from({ length: 12 }, () => storeOn(client, { deadlineMs: 10_000 }))
  const listeners = () => ['ready', 'close', 'end'].map((event) => client.listenerCount(event))
  const asked = stores.map((store) =>
    new RateLimiter({ name: newName(), store, policy }).consume('k'),
  )
  await new Promise((resolve) => setImmediate(resolve))
  // ioredis has some of its own.
  expect(Math.max(...listeners())).toBeLessThan(5)
  expect((await Promise.all(asked)).every(({ source }) => source === 'store')).toBe(true)
  expect(Math.max(...listeners())).toBeLessThan(3)
})

test('a reset that is the first request is also done', async () => {
  const name = newName()
  const limiterOn = (client: Redis) =>
    new RateLimiter({ name, store: storeOn(client, { deadlineMs: 10_000 }), policy, shared: true })
  await limiterOn(redis()).consume('k', { cost: 3 })
  const second = limiterOn(redis())
  await second.reset('k')
  expect(await second.consume('k')).toMatchObject({ remaining: 2, source: 'store' })
})

test('if nobody listens, requests are decided in the process as soon as that shows', async () => {
  const store = storeOn(redis({}, await freePort()), { deadlineMs: 60_000 })
  const limiter = new RateLimiter({ name: newName(), store, policy })
  const startedMs = performance.now()
  const decisions = await Promise.all(Array.from({ length: 4 }, () => limiter.consume('k')))
  expect(performance.now() - startedMs).toBeLessThan(30_000)
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false])
  expect(decisions.every(({ source }) => source === 'local')).toBe(true)
})

/** Accepts connections, and never answers. */
async function silentServer(): Promise<number> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => void sockets.add(socket.on('error', () => {})))
  const at = await freePort()
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  open.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  return at
}

test('a store that is closed while it waits ends waiting requests', async () => {
  const client = redis({}, await silentServer())
  const store = storeOn(client, { deadlineMs: 60_000 })
  const pending = new RateLimiter({ name: newName(), store, policy }).consume('k')
  await new Promise((resolve) => setImmediate(resolve))
  await store.close()
  expect((await pending).degraded).toBe(true)
  client.disconnect()
  await waitUntil('the attempt has ended', async () => client.status === 'end')
  expect(['ready', 'close', 'end'].map((event) => client.listenerCount(event))).toEqual([0, 0, 0])
})
