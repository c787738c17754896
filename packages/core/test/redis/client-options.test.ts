// Each ioredis option that users set, with real servers: limits hold, and data is where it should
// be; or the client is refused when it is passed.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  freePort,
  openConnection,
  type RedisCluster,
  type RedisSentinel,
  type RedisServer,
  startCluster,
  startRedis,
  startSentinel,
  waitUntil,
} from '@weir/testkit'
import { Cluster, Redis } from 'ioredis'
import { generate } from 'selfsigned'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { RedisLike } from '../../src/entries/store.js'
import {
  fixedWindow,
  RateLimiter,
  type RedisStore,
  recommendedClusterOptions,
  recommendedRedisOptions,
  redisStore,
  slidingLog,
} from '../../src/index.js'
import { newName } from './clients.js'
import { workerRedis } from './servers.js'

const folder = mkdtempSync(join(tmpdir(), 'weir-tls-'))
const file = (name: string) => join(folder, name)
/** The shared Cluster, which has a replica for each master. */
const nodes = workerRedis().clusterPorts.map((port) => ({ host: '127.0.0.1', port }))

let server: RedisServer
let tlsPort: number
let sentinel: RedisSentinel
/** Its nodes have names that clients cannot resolve, as behind network address translation. */
let hidden: RedisCluster
beforeAll(async () => {
  // Unsafe options are the subject.
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  })
  writeFileSync(file('key'), key)
  writeFileSync(file('cert'), cert)
  tlsPort = await freePort()
  const tls = ['--tls-port', String(tlsPort), '--tls-auth-clients', 'no']
  const files = ['--tls-cert-file', file('cert'), '--tls-key-file', file('key')]
  const announced = ['--cluster-announce-hostname', 'hidden.test']
  const started = await Promise.all([
    startRedis({ args: [...tls, ...files, '--unixsocket', file('socket')] }),
    startSentinel(),
    startCluster({
      masters: 2,
      replicas: 0,
      args: [...announced, '--cluster-preferred-endpoint-type', 'hostname'],
    }),
  ])
  server = started[0]
  sentinel = started[1]
  hidden = started[2]
  // Nodes learn the names of others later than their addresses.
  for (const node of hidden.nodes) {
    await waitUntil('all names to be known', async () => {
      const shards = (await node.command('CLUSTER', 'SLOTS')) as [
        number,
        number,
        [string, number],
      ][]
      return shards.every(([, , [host]]) => host === 'hidden.test')
    })
  }
})
afterAll(async () => {
  await Promise.all([server, sentinel, hidden].map((each) => each.stop()))
  rmSync(folder, { recursive: true })
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

function redis(options: object): Redis {
  return opened(new Redis({ port: server.port, ...options } as never))
}

function clusterAt(startup: typeof nodes, options: object): Cluster {
  return opened(new Cluster(startup, options as never))
}

type AnyOptions = Record<string, unknown> & { readonly redisOptions?: object }

function storeOn(client: RedisLike, prefix: string): RedisStore {
  const store = redisStore(client, { prefix, whenUnavailable: 'throw', deadlineMs: 10_000 })
  open.push(() => store.close())
  return store
}

/** Two stores on the client do everything that stores do. Returns the prefix of their keys. */
async function doesAll(client: RedisLike): Promise<string> {
  const prefix = newName()
  const [one, other] = [storeOn(client, prefix), storeOn(client, prefix)]
  for (const policy of [
    fixedWindow({ name: 'f', limit: 2, window: '5m' }),
    slidingLog({ name: 'l', limit: 2, window: '5m' }),
  ]) {
    const [mine, theirs] = [one, other].map(
      (store) => new RateLimiter({ name: 'limiter', store, policy, shared: true }),
    ) as [RateLimiter, RateLimiter]
    for (const key of ['a', 'b']) {
      const decisions = await Promise.all([0, 1, 2].map(() => mine.consume(key)))
      expect(decisions.map(({ allowed, source }) => [allowed, source])).toEqual([
        [true, 'store'],
        [true, 'store'],
        [false, 'store'],
      ])
      expect(await theirs.peek(key)).toMatchObject({
        allowed: false,
        remaining: 0,
        source: 'store',
      })
      await mine.refund(decisions[0] as (typeof decisions)[0])
      expect(await theirs.peek(key)).toMatchObject({ allowed: true, remaining: 1 })
      await theirs.penalty(key, { cost: 1 })
      expect((await theirs.consume(key)).allowed).toBe(false)
      await mine.reset(key)
      expect((await theirs.peek(key)).remaining).toBe(2)
      await theirs.consume(key)
    }
  }
  // The one that asked last sees both at its first heartbeat.
  await waitUntil('both are counted', async () =>
    [one, other].some((store) => store.health().instances === 2),
  )
  return prefix
}

/** The keys of the limiter and of the heartbeat, in a database of the single server. */
async function keysIn(db: number, pattern: string): Promise<string[]> {
  const connection = openConnection(server.port)
  await connection.command('SELECT', db)
  const keys = (await connection.command('KEYS', pattern)) as string[]
  connection.close()
  return keys
}

/** Unsafe options, which users' clients may have, and the recommended ones. */
describe('a Redis', () => {
  test.each<object>([
    {},
    recommendedRedisOptions,
    { ...recommendedRedisOptions, enableAutoPipelining: true },
    { enableAutoPipelining: true, lazyConnect: true },
    { enableAutoPipelining: true, autoPipeliningIgnoredCommands: ['evalsha'] },
    { stringNumbers: true },
    { lazyConnect: true },
    { enableOfflineQueue: false },
    { enableReadyCheck: false },
    { showFriendlyErrorStack: true },
    { commandTimeout: 5_000 },
    { maxRetriesPerRequest: null },
    { connectionName: 'app', keepAlive: 1_000, noDelay: false, family: 4 },
    // An option of ioredis 6; 5 does not know it.
    { protocol: 2 },
    { replyMapping: 'resp3' },
  ])('works with %j', async (options) => {
    await doesAll(redis(options))
  })

  test.each<[object, number, string]>([
    [{ keyPrefix: 'app:' }, 0, 'app:'],
    [{ keyPrefix: 'app:', enableAutoPipelining: true }, 0, 'app:'],
    [{ db: 3 }, 3, ''],
    [{ db: 3, enableAutoPipelining: true }, 3, ''],
  ])('with %j keeps its keys there', async (options, db, keyPrefix) => {
    const prefix = await doesAll(redis(options))
    expect(await keysIn(db, `${keyPrefix}${prefix}:*`)).toContain(
      `${keyPrefix}${prefix}:{instances}`,
    )
    expect(await keysIn(0, `${prefix}:*`)).toEqual([])
  })

  test('works with tls', async () => {
    const tls = { ca: readFileSync(file('cert')) }
    await doesAll(redis({ port: tlsPort, tls, enableAutoPipelining: true }))
  })

  test('works with the path of a socket', async () => {
    await doesAll(redis({ path: file('socket') }))
  })

  test('works with sentinels and a natMap', async () => {
    const sentinels = [{ host: '127.0.0.1', port: sentinel.sentinelPorts[0] as number }]
    const port = await sentinel.masterPort()
    const natMap = { [`127.0.0.1:${port}`]: { host: 'localhost', port } }
    await doesAll(redis({ ...recommendedRedisOptions, sentinels, name: sentinel.name }))
    await doesAll(redis({ sentinels, name: sentinel.name, natMap }))
  })
})

describe('a Cluster', () => {
  const recommended = recommendedClusterOptions as AnyOptions

  test.each<AnyOptions>([
    {},
    recommended,
    { ...recommended, enableAutoPipelining: true },
    { enableAutoPipelining: 'true' },
    { enableAutoPipelining: true, lazyConnect: true },
    { enableAutoPipelining: true, scaleReads: 'slave' },
    { ...recommended, scaleReads: 'all' },
    { lazyConnect: true },
    { enableOfflineQueue: false },
    { enableReadyCheck: false },
    { redisOptions: { stringNumbers: true } },
    { redisOptions: { readOnly: true } },
    { redisOptions: { enableAutoPipelining: true, showFriendlyErrorStack: true } },
    { shardedSubscribers: true },
    { redisOptions: { protocol: 2 } },
    { redisOptions: { replyMapping: 'resp3' } },
  ])('works with %j', async (options) => {
    await doesAll(clusterAt(nodes, options))
  })

  test('works with its own scaleReads', async () => {
    await doesAll(clusterAt(nodes, { scaleReads: (all: Redis[]) => all.at(-1) }))
  })

  test.each<AnyOptions>([{ keyPrefix: 'app:' }, { keyPrefix: 'app:', enableAutoPipelining: true }])(
    'keeps its keys under the prefix of %j',
    async (options) => {
      const client = clusterAt(nodes, options)
      const prefix = await doesAll(client)
      const found = async (pattern: string) =>
        (await Promise.all(client.nodes('master').map((node) => node.keys(pattern)))).flat()
      expect(await found(`app:${prefix}:*`)).toContain(`app:${prefix}:{instances}`)
      expect(await found(`${prefix}:*`)).toEqual([])
    },
  )

  test.each([{}, { ...recommended, enableAutoPipelining: true }])(
    'works with a natMap and %j',
    async (options) => {
      const natMap = Object.fromEntries(
        hidden.ports.map((port) => [`hidden.test:${port}`, { host: '127.0.0.1', port }]),
      )
      const startup = [{ host: '127.0.0.1', port: hidden.ports[0] as number }]
      const client = clusterAt(startup, { ...options, natMap })
      // ioredis sends commands for a connecting node to another one, whose redirections are not in
      // the map.
      await waitUntil('all nodes to be known', async () => {
        return client.nodes('master').length === hidden.ports.length
      })
      await Promise.all(
        client.nodes('master').map((node) => node.connect().catch(() => node.ping())),
      )
      await doesAll(client)
    },
  )
})

describe('a client that cannot work is refused when it is passed', () => {
  function refused(client: unknown, remedy: string): void {
    expect(() => redisStore(client as never)).toThrow(
      expect.objectContaining({
        code: 'WEIR_INVALID_OPTION',
        message: expect.stringContaining(remedy),
      }),
    )
  }
  const connected = (options: object = {}) =>
    redis({ ...recommendedRedisOptions, lazyConnect: true, ...options })

  test.each<[string, object, string]>([
    ['readOnly', { readOnly: true }, 'leave readOnly out'],
    [
      'a role of slave',
      { sentinels: [{ host: '127.0.0.1', port: 1 }], name: 'm', role: 'slave' },
      "leave role out, or give 'master'",
    ],
    ['braces in keyPrefix', { keyPrefix: '{app}:' }, 'it must not have braces'],
  ])('%s', (_, options, remedy) => refused(connected(options), remedy))

  test('a client of another library that pipelines automatically', () => {
    const options = { enableAutoPipelining: true }
    refused({ callBuffer: async () => undefined, options }, 'enableAutoPipelining')
  })

  test('a client that is closed', () => {
    for (const client of [connected(), clusterAt(nodes, { lazyConnect: true })]) {
      client.disconnect()
      refused(client, 'the client is closed; give one that is not')
    }
  })

  test('a client that subscribes by RESP2, or monitors', async () => {
    const client = connected({ protocol: 2 })
    await client.connect()
    await client.subscribe('news')
    refused(client, 'the client subscribes, and can send nothing else; give Weir a separate')
    refused(opened(await connected().monitor()), 'the client monitors, and can send nothing else')
  })

  test('a pipeline or a transaction', () => {
    for (const pipeline of [connected().pipeline(), connected().multi()])
      refused(pipeline, 'the client is a pipeline or a transaction of one; give the client itself')
  })
})
