// Clients of node-redis: stores on each kind keep the contract of a store, and say what is wrong
// with a client. test/outages has what takes time.

import { type RedisStore, type RedisStoreOptions, redisStore } from '@weir/core'
import {
  fromNodeRedis,
  type NodeRedisLike,
  recommendedNodeRedisOptions,
} from '@weir/core/node-redis'
import { freePort, startRedis } from '@weir/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { processTime } from '../../../../packages/core/src/base/time.js'
import type { Adapter } from '../../../../packages/core/src/redis/client.js'
import { workerRedis } from '../../../../packages/core/test/redis/servers.js'
import { nodeRedisClient, nodeRedisCluster, VERSIONS } from './node-redis.js'
import {
  ALONE,
  comesAndGoes,
  followsAKey,
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

/** A store that is closed after the test. */
function storeOn(client: NodeRedisLike, options: RedisStoreOptions = ALONE): RedisStore {
  const store = redisStore(fromNodeRedis(client), options)
  open.push(() => store.close())
  return store
}

describe.each(VERSIONS)('%s', (version, library) => {
  const single = nodeRedisClient(library, port)
  const cluster = nodeRedisCluster(library, clusterPorts)
  beforeAll(() => Promise.all([single.connect(), cluster.connect()]))
  afterAll(() => {
    single.destroy()
    cluster.destroy()
  })

  // The newest version runs the whole suite in every-client.test.ts: both encode commands and
  // decode replies alike.
  if (version !== VERSIONS[0]?.[0]) {
    keepTheContract(fromNodeRedis(single))
    test('a key that moves to another node is counted on there', () =>
      followsAKey(fromNodeRedis(cluster), clusterPorts))
  }

  test.each([2, 3])('a store decides with RESP%d', async (RESP) => {
    const client = nodeRedisClient(library, port, { RESP })
    open.push(() => client.destroy())
    await client.connect()
    const limiter = limiterOn(storeOn(client, STRICT), 2)
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
      const limiter = limiterOn(storeOn(client, STRICT), 100)
      const all = await Promise.all(Array.from({ length: 150 }, () => limiter.consume('k')))
      expect(all.filter(({ allowed }) => allowed)).toHaveLength(100)
    }
  })

  test('before it is connected, and after it is closed, decisions are local', async () => {
    const client = nodeRedisClient(library, port)
    const limiter = limiterOn(storeOn(client))
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
    await client.connect()
    await redisDecides(limiter)
    client.destroy()
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
  })

  test('requests while a client connects wait for it', async () => {
    const client = nodeRedisClient(library, port)
    open.push(() => client.destroy())
    const limiter = limiterOn(storeOn(client, { ...STRICT, ...ALONE }))
    const connecting = client.connect()
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'store' })
    await connecting
  })
})

test('an outage ends no process, and Redis decides again afterwards', async () => {
  const of = await freePort()
  const limiters = VERSIONS.map(([, library]) => {
    // Nobody but Weir listens to errors.
    const client = library.createClient({
      ...recommendedNodeRedisOptions,
      url: `redis://127.0.0.1:${of}`,
    })
    open.push(() => client.destroy())
    client.connect().catch(() => {})
    return limiterOn(storeOn(client))
  })
  await comesAndGoes(limiters, async () => {
    const server = await startRedis({ port: of })
    open.push(() => server.stop())
    return server
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
      const limiter = limiterOn(storeOn(client))
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
  const limiter = limiterOn(storeOn(client, STRICT))
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
