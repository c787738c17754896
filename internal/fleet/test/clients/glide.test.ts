// Clients of Valkey GLIDE: stores on both kinds keep the contract of a store, and learn what GLIDE
// does not report. test/outages has what takes time.

import { Batch, Decoder, GlideMonitorClient, ProtocolVersion } from '@valkey/valkey-glide'
import { type RedisStoreOptions, redisStore } from '@weir/core'
import { fromGlide, type GlideLike } from '@weir/core/glide'
import { openConnection, startProxy, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { processTime } from '../../../../packages/core/src/base/time.js'
import type { Adapter } from '../../../../packages/core/src/redis/client.js'
import type { Connection } from '../../../../packages/core/src/redis/connection.js'
import { COMMANDS } from '../../../../packages/core/src/redis/permissions.js'
import { workerRedis } from '../../../../packages/core/test/redis/servers.js'
import { glideClient, glideCluster } from './glide.js'
import { ALONE, limiterOn, redisDecides, STRICT } from './other-clients.js'

const { port, clusterPorts } = workerRedis()
const single = await glideClient(port)
const cluster = await glideCluster(clusterPorts)
afterAll(() => {
  single.close()
  cluster.close()
})

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

function connectionOf(client: GlideLike): Connection {
  const options = { deadlineMs: 100, time: processTime }
  return (fromGlide(client) as Adapter).connectionWith(options)
}

/** A client that is closed after the test. */
async function clientOf(of: number, options: object = {}) {
  const client = await glideClient(of, options)
  open.push(() => client.close())
  return client
}

/** A store that is closed after the test. */
function storeOn(client: GlideLike, options: RedisStoreOptions = ALONE) {
  const store = redisStore(fromGlide(client), options)
  open.push(() => store.close())
  return store
}

describe('a store decides', () => {
  test.each([
    ['by RESP2', { protocol: ProtocolVersion.RESP2 }],
    ['by RESP3', { protocol: ProtocolVersion.RESP3 }],
    ['where replies are texts by default', { defaultDecoder: Decoder.String }],
    ['in another database', { databaseId: 3 }],
    ['where the client was connected before', { lazyConnect: false }],
    [
      'where the client subscribes, too',
      { pubsubSubscriptions: { channelsAndPatterns: { 0: new Set(['news']) }, callback() {} } },
    ],
  ])('%s', async (_, options) => {
    const limiter = limiterOn(storeOn(await clientOf(port, options), STRICT), 2)
    const decisions = [await limiter.consume('k'), await limiter.consume('k')]
    expect(decisions.map(({ remaining }) => remaining)).toEqual([1, 0])
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, source: 'store' })
  })

  test('in bytes: the decoder has the same number as in GLIDE', async () => {
    expect(Decoder.Bytes).toBe(0)
    const reply = await connectionOf(single).call('eval', ["return '\\255'", '0'])
    expect(reply).toEqual(Buffer.from([255]))
  })

  test('for a user with the permissions that Weir and GLIDE need, even on a new connection', async () => {
    const server = openConnection(port)
    open.push(() => server.close())
    const may = [...COMMANDS, 'INFO', 'PING'].map((name) => `+${name}`)
    await server.command('ACL', 'SETUSER', 'app', 'on', '>secret', '~weir:*', ...may)
    open.push(() => server.command('ACL', 'DELUSER', 'app'))
    const credentials = { username: 'app', password: 'secret' }
    const limiter = limiterOn(storeOn(await clientOf(port, { credentials })))
    await redisDecides(limiter)
    await server.command('CLIENT', 'KILL', 'USER', 'app')
    await redisDecides(limiter)
  })

  test('in the database of the client', async () => {
    const client = await clientOf(port, { databaseId: 3 })
    expect(connectionOf(client).database).toBe(3)
    await limiterOn(storeOn(client, STRICT)).consume('in-database-3')
    expect(await client.customCommand(['KEYS', '*in-database-3*'])).toHaveLength(1)
  })

  test('after the server has forgotten its scripts', async () => {
    const limiter = limiterOn(storeOn(single, STRICT))
    await limiter.consume('k')
    await single.customCommand(['SCRIPT', 'FLUSH'])
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'store' })
  })
})

test('an error of the server is the one that ioredis would report', async () => {
  const client = new Redis(port)
  open.push(() => client.disconnect())
  const codes = ['ERR', 'NOPERM', 'READONLY', 'LOADING', 'OOM', 'MISCONF', 'TRYAGAIN', 'CROSSSLOT']
  const scripts = [
    ...codes.map((code) => `return redis.error_reply('${code} of a test')`),
    'error("a mistake")',
    "redis.call('SET', KEYS[1], 'a') return redis.call('LPUSH', KEYS[1], 'a')",
  ]
  const { call } = connectionOf(single)
  const told = (error: Error) => ({ name: error.name, message: error.message })
  for (const script of scripts) {
    const args = [script, '1', 'glide-errors'] as const
    const expected = await client.eval(script, 1, 'glide-errors').then(() => undefined, told)
    expect(expected?.name).toBe('ReplyError')
    expect(await call('eval', [...args]).then(() => undefined, told)).toEqual(expected)
  }
  await client.del('glide-errors')
  const unknown = await call('evalsha', ['0'.repeat(40), '0']).catch(told)
  expect(unknown).toMatchObject({
    name: 'ReplyError',
    message: expect.stringMatching(/^NOSCRIPT /),
  })
})

describe('while there is no connection', () => {
  test('requests while a client connects wait for it', async () => {
    const client = await clientOf(port)
    const limiter = limiterOn(storeOn(client, { ...STRICT, ...ALONE }))
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'store' })
  })

  test('GLIDE is given nothing to queue except a query that reveals a connection', async () => {
    const proxy = await startProxy(port)
    open.push(() => proxy.stop())
    const client = await clientOf(proxy.port)
    const limiter = limiterOn(storeOn(client))
    await redisDecides(limiter)
    // One is in progress when the connection is lost, which GLIDE reports.
    await proxy.set('mute')
    const sent = () => proxy.stats.commands.get('EVALSHA') ?? 0
    const earlier = sent()
    const underWay = limiter.consume('k')
    await waitUntil('it is sent', async () => sent() > earlier)
    await proxy.set('refuse')
    await underWay
    expect(await limiter.consume('k')).toMatchObject({ source: 'local' })
    const before = sent()
    await proxy.set('pass')
    await client.ping()
    expect(sent()).toBe(before)
    await redisDecides(limiter)
  })

  test('a closed client decides nothing: decisions are local', async () => {
    const client = await glideClient(port)
    const limiter = limiterOn(storeOn(client))
    await redisDecides(limiter)
    client.close()
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
    expect(connectionOf.bind(undefined, client)).toThrow(/the client is closed/)
  })
})

describe('a value that is not a client of GLIDE is refused', () => {
  test.each([
    ['nothing', undefined],
    ['a text', 'redis://localhost'],
    ['an empty object', {}],
    ['a client of another library', { callBuffer: async () => undefined }],
    ['a batch', new Batch(true)],
    ['a client that monitors', GlideMonitorClient.prototype],
  ])('%s', (_, client) => {
    expect(() => fromGlide(client as never)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })

  test('a client that is closed', async () => {
    const client = await glideClient(port)
    client.close()
    expect(() => fromGlide(client)).toThrow(
      expect.objectContaining({
        code: 'WEIR_INVALID_OPTION',
        message: expect.stringMatching(/the client is closed/),
      }),
    )
  })

  test('a client that reads from replicas only', async () => {
    const client = await clientOf(port, { readOnly: true })
    expect(() => fromGlide(client)).toThrow(
      expect.objectContaining({
        code: 'WEIR_INVALID_OPTION',
        message: expect.stringMatching(/readOnly is true/),
      }),
    )
  })

  test('redisStore says what to write for a client without its adapter', () => {
    for (const client of [single, cluster])
      expect(() => redisStore(client as never)).toThrow(
        /fromGlide\(client\), of '@weir\/core\/glide'/,
      )
  })
})

test('stores on clients of the same server are one store', async () => {
  const place = async (client: Promise<GlideLike>) => {
    const made = await client
    open.push(() => made.close())
    return connectionOf(made).place.join()
  }
  const [first, same, database, nodes, reversed, other] = await Promise.all([
    place(glideClient(port)),
    place(glideClient(port, { requestTimeout: 7 })),
    place(glideClient(port, { databaseId: 1 })),
    place(glideCluster(clusterPorts)),
    place(glideCluster([...clusterPorts].reverse())),
    place(glideClient(1, { addresses: [{ host: '10.0.0.1' }] })),
  ])
  expect(same).toBe(first)
  expect(database).not.toBe(first)
  expect(reversed).toBe(nodes)
  expect(other).toBe('10.0.0.1:6379,0,')
})
