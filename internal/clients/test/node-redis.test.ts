// Clients of node-redis: stores on each kind keep the contract of a store, and failures of Redis
// are noticed as with ioredis.

import { type RateLimiter, type RedisStoreOptions, redisStore } from '@weir/core'
import { fromNodeRedis, recommendedNodeRedisOptions } from '@weir/core/node-redis'
import { startCluster, startProxy, startRedis, startSentinel, waitUntil } from '@weir/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { processTime } from '../../../packages/core/src/base/time.js'
import type { Adapter } from '../../../packages/core/src/redis/client.js'
import { workerRedis } from '../../../packages/core/test/redis/servers.js'
import { nodeRedisClient, nodeRedisCluster, VERSIONS } from './node-redis.js'
import {
  ALONE,
  asking,
  comesBack,
  countsProcessesAndSetsLimits,
  keepTheContract,
  limiterOn,
  redisDecides,
  STRICT,
} from './other-clients.js'

const { port, clusterPorts } = workerRedis()

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

describe.each(VERSIONS)('%s', (_, library) => {
  const single = nodeRedisClient(library, port)
  const cluster = nodeRedisCluster(library, clusterPorts)
  beforeAll(() => Promise.all([single.connect(), cluster.connect()]))
  afterAll(() => {
    single.destroy()
    cluster.destroy()
  })

  keepTheContract([
    ['a single server', fromNodeRedis(single)],
    ['a Cluster', fromNodeRedis(cluster)],
  ])

  test.each([2, 3])('a store decides with RESP%d', async (RESP) => {
    const client = nodeRedisClient(library, port, { RESP })
    open.push(() => client.destroy())
    await client.connect()
    const limiter = limiterOn(redisStore(fromNodeRedis(client), STRICT), 2)
    const decisions = [await limiter.consume('k'), await limiter.consume('k')]
    expect(decisions.map(({ remaining }) => remaining)).toEqual([1, 0])
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, source: 'store' })
  })

  test('a pool, and a client that maps replies to other types, decide as well', async () => {
    const pool = library.createClientPool(
      { url: `redis://127.0.0.1:${port}` },
      { minimum: 2, maximum: 4 },
    )
    open.push(() => pool.destroy())
    await pool.connect()
    for (const client of [pool, single.withTypeMapping({ 58: String })]) {
      const limiter = limiterOn(redisStore(fromNodeRedis(client), STRICT), 100)
      const all = await Promise.all(Array.from({ length: 150 }, () => limiter.consume('k')))
      expect(all.filter(({ allowed }) => allowed)).toHaveLength(100)
    }
  })

  test('a store decides with Sentinels, before and after a failover, and counts nothing twice', async () => {
    const sentinel = await startSentinel()
    open.push(() => sentinel.stop())
    const client = library.createSentinel({
      name: sentinel.name,
      sentinelRootNodes: sentinel.sentinelPorts.map((each) => ({ host: '127.0.0.1', port: each })),
      nodeClientOptions: recommendedNodeRedisOptions,
      scanInterval: 100,
    })
    client.on('error', () => {})
    open.push(() => client.destroy())
    await client.connect()
    const store = redisStore(fromNodeRedis(client), ALONE)
    open.push(() => store.close())
    const limiter = limiterOn(store)
    let asked = 0
    const ask = (): ReturnType<RateLimiter['consume']> => {
      asked += 1
      return limiter.consume('k')
    }
    await waitUntil('Redis decides', async () => (await ask()).source === 'store')
    const timer = setInterval(ask, 5)
    open.push(() => clearInterval(timer))
    // Its last requests are in progress until they are given up.
    sentinel.servers[0]?.kill('SIGSTOP')
    await waitUntil('another one decides', async () => (await ask()).source === 'store')
    clearInterval(timer)
    await waitUntil('all is counted', async () => store.health().localKeys === 0)
    // What was sent in vain, and decided without Redis, is not sent again.
    const { limit, remaining } = await limiter.peek('k')
    expect(limit - remaining).toBeLessThanOrEqual(asked)
  })

  test('processes are counted, and live limits are set and read', () =>
    countsProcessesAndSetsLimits(fromNodeRedis(single)))

  test('before it is connected, and after it is closed, decisions are local and in time', async () => {
    const client = nodeRedisClient(library, port)
    const store = redisStore(fromNodeRedis(client), ALONE)
    const limiter = limiterOn(store)
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
    await client.connect()
    await redisDecides(limiter)
    client.destroy()
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
    await store.close()
  })

  test('requests while a client connects wait for it', async () => {
    const client = nodeRedisClient(library, port)
    open.push(() => client.destroy())
    const limiter = limiterOn(redisStore(fromNodeRedis(client), { ...STRICT, ...ALONE }))
    const connecting = client.connect()
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'store' })
    await connecting
  })

  test('a freeze leaves one connection, and a client that was destroyed during it stays so', async () => {
    const server = await startRedis()
    open.push(() => server.stop())
    const clients = [nodeRedisClient(library, server.port), nodeRedisClient(library, server.port)]
    const [kept, destroyed] = clients as [(typeof clients)[0], (typeof clients)[0]]
    const stores = clients.map((client) => redisStore(fromNodeRedis(client), ALONE))
    const limiters = stores.map((store) => limiterOn(store))
    for (const store of stores) open.push(() => store.close())
    for (const client of clients) {
      open.push(() => client.isOpen && client.destroy())
      await client.connect()
    }
    const ask = () => Promise.all(limiters.map((limiter) => limiter.consume('k')))
    await waitUntil('Redis decides', async () => (await ask()).every((d) => d.source === 'store'))
    server.kill('SIGSTOP')
    const untilMs = performance.now() + 4_000
    while (performance.now() < untilMs) {
      await ask()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    destroyed.destroy()
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    server.kill('SIGCONT')
    await waitUntil('Redis decides', async () => (await ask())[0]?.source === 'store')
    expect(destroyed.isOpen).toBe(false)
    await waitUntil('one connection', async () => {
      const list = (await kept.sendCommand(['CLIENT', 'LIST'])) as string
      return list.trim().split('\n').length === 1
    })
  })

  test('an outage ends no process, and Redis decides again afterwards', async () => {
    const server = await startRedis()
    // Nobody but Weir listens to errors.
    const client = library.createClient({
      ...recommendedNodeRedisOptions,
      url: `redis://127.0.0.1:${server.port}`,
    })
    const store = redisStore(fromNodeRedis(client), ALONE)
    open.push(() => client.destroy())
    await client.connect()
    const startAgain = async () => {
      const again = await startRedis({ port: server.port })
      open.push(() => again.stop())
    }
    await comesBack(limiterOn(store), () => server.stop(), startAgain)
  })
})

describe('a silent connection of node-redis is given up', () => {
  /** A limiter on a Redis behind a proxy, which has decided once. */
  async function behindProxy(options: RedisStoreOptions) {
    const server = await startRedis()
    open.push(() => server.stop())
    const proxy = await startProxy(server.port)
    open.push(() => proxy.stop())
    const [, library] = VERSIONS[0] as (typeof VERSIONS)[number]
    const client = nodeRedisClient(library, proxy.port)
    open.push(() => client.destroy())
    await client.connect()
    const store = redisStore(fromNodeRedis(client), { ...ALONE, ...options })
    open.push(() => store.close())
    const limiter = limiterOn(store)
    await redisDecides(limiter)
    expect(proxy.stats.connections).toBe(1)
    return { proxy, limiter }
  }

  const for2s = () => new Promise((resolve) => setTimeout(resolve, 2_000))

  test('after a second, and the next one, which is not greeted, by the client after five', async () => {
    const { proxy, limiter } = await behindProxy({})
    await proxy.set('blackhole')
    const startedMs = performance.now()
    open.push(asking(limiter))
    await waitUntil('a new connection', async () => proxy.stats.connections >= 2)
    expect(performance.now() - startedMs).toBeGreaterThan(900)
    await waitUntil('another one', async () => proxy.stats.connections >= 3)
    expect(performance.now() - startedMs).toBeGreaterThan(5_900)
    await proxy.set('pass')
    await waitUntil('Redis decides', async () => (await limiter.peek('k')).source === 'store')
  })

  test('but not if a reply may take longer', async () => {
    const { proxy, limiter } = await behindProxy({ deadlineMs: 5_000 })
    await proxy.set('blackhole')
    open.push(asking(limiter))
    await for2s()
    expect(proxy.stats.connections).toBe(1)
  })

  test('but not if the event loop was blocked', async () => {
    const { proxy, limiter } = await behindProxy({})
    const before = limiter.consume('before')
    await Promise.resolve()
    const endMs = performance.now() + 1_500
    while (performance.now() < endMs);
    const keys = Array.from({ length: 40 }, (_, i) => `after${i}`)
    await Promise.all([before, ...keys.map((key) => limiter.consume(key))])
    await redisDecides(limiter)
    expect(proxy.stats.connections).toBe(1)
  })

  test('but not if replies are slow', async () => {
    const { proxy, limiter } = await behindProxy({})
    await proxy.set({ latencyMs: 350 })
    open.push(asking(limiter))
    await waitUntil('many late replies', async () => (proxy.stats.commands.get('EVALSHA') ?? 0) > 8)
    await for2s()
    expect(proxy.stats.connections).toBe(1)
  })

  test('and so is that to a node of a Cluster, while the others are kept', async () => {
    const servers = await startCluster({ masters: 3, replicas: 0 })
    open.push(() => servers.stop())
    const [, library] = VERSIONS[0] as (typeof VERSIONS)[number]
    const client = nodeRedisCluster(library, servers.ports)
    open.push(() => client.destroy())
    await client.connect()
    const limiter = limiterOn(redisStore(fromNodeRedis(client), ALONE))
    const keys = Array.from({ length: 30 }, (_, i) => `k${i}`)
    await Promise.all(keys.map((key) => limiter.consume(key)))
    const silent = servers.masters[0]
    const closed: (number | undefined)[] = []
    for (const { client: node, port } of client.masters) node?.on('end', () => closed.push(port))
    silent?.kill('SIGSTOP')
    open.push(asking(limiter, keys))
    await waitUntil('it is given up', async () => closed.length > 0)
    silent?.kill('SIGCONT')
    await waitUntil('all decide', async () => {
      const decisions = await Promise.all(keys.map((key) => limiter.peek(key)))
      return decisions.every(({ source }) => source === 'store')
    })
    expect(closed).toEqual([silent?.port])
  })
})

describe('a value that is not a client of node-redis is refused', () => {
  const [, library] = VERSIONS[0] as (typeof VERSIONS)[number]

  test.each([
    ['nothing', undefined],
    ['a text', 'redis://localhost'],
    ['an empty object', {}],
    ['a client of another library', { callBuffer: async () => undefined }],
    ['a transaction', library.createClient().multi()],
  ])('%s', (_, client) => {
    expect(() => fromNodeRedis(client as never)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })

  test.each([
    ['of version 6', 0, { RESP: 2 }],
    ['of version 5 by default', 1, {}],
  ])(
    'a client that subscribes with RESP2, %s, and so can send no commands',
    async (_, i, options) => {
      const client = nodeRedisClient((VERSIONS[i] as (typeof VERSIONS)[number])[1], port, options)
      open.push(() => client.destroy())
      await client.connect()
      const limiter = limiterOn(redisStore(fromNodeRedis(client), ALONE))
      await redisDecides(limiter)
      await client.subscribe('news', () => {})
      expect(() => fromNodeRedis(client)).toThrow(/subscribes with RESP2/)
      expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
    },
  )

  test('redisStore says what to write for a client without its adapter', () => {
    const client = library.createClient() as never
    expect(() => redisStore(client)).toThrow(
      /fromNodeRedis\(client\), of '@weir\/core\/node-redis'/,
    )
  })
})

test('keys have the prefix of the client, even of version 6', async () => {
  const [, library] = VERSIONS[0] as (typeof VERSIONS)[number]
  const client = nodeRedisClient(library, port, { keyPrefix: 'app:' })
  open.push(() => client.destroy())
  await client.connect()
  const limiter = limiterOn(redisStore(fromNodeRedis(client), STRICT))
  await limiter.consume('prefixed-key')
  const keys = (await client.sendCommand(['KEYS', '*prefixed-key*'])) as string[]
  expect(keys).toHaveLength(1)
  expect(keys[0]).toMatch(/^app:weir:/)
})

test('stores on clients of the same server are one store', async () => {
  const [, library] = VERSIONS[0] as (typeof VERSIONS)[number]
  const other = { ...recommendedNodeRedisOptions, url: 'redis://10.0.0.1:1' }
  const places = [
    library.createClient({ ...recommendedNodeRedisOptions, url: `redis://127.0.0.1:${port}` }),
    nodeRedisClient(library, port, { url: `redis://user:secret@127.0.0.1:${port}/0` }),
    nodeRedisClient(library, port, { database: 1 }),
    nodeRedisCluster(library, clusterPorts),
    nodeRedisCluster(library, [...clusterPorts].reverse()),
    library.createClient(other),
  ].map((client) => {
    const options = { deadlineMs: 100, time: processTime }
    return (fromNodeRedis(client) as Adapter).connectionWith(options).place.join()
  })
  expect(places[1]).toBe(places[0])
  expect(places[2]).not.toBe(places[0])
  expect(places[4]).toBe(places[3])
  expect(places[5]).not.toBe(places[0])
  expect(places.join()).not.toContain('secret')
})
