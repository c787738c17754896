// The database in a client's option `db`, on real servers: Weir decides there or not at all.

import { waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { livePolicies } from '../../src/entries/live.js'
import {
  fixedWindow,
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
  recommendedRedisOptions,
  redisStore,
} from '../../src/index.js'
import { clusterClient, newName } from './clients.js'
import { ownServer } from './own.js'
import { callsOf } from './stats.js'

const policy = fixedWindow({ name: 'p', limit: 3, window: '5m' })
const PASSWORD = 'secret'

const server = await ownServer()

const open: (() => unknown)[] = []
let warnings: [string, { readonly code: string }][]
beforeEach(async () => {
  warnings = []
  vi.spyOn(process, 'emitWarning').mockImplementation(((...given: (typeof warnings)[number]) => {
    warnings.push(given)
  }) as never)
  await server.command('FLUSHALL')
  await server.command('CONFIG', 'RESETSTAT')
})
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
  vi.restoreAllMocks()
})

function opened<
  Client extends { on(event: 'error', listener: () => void): unknown; disconnect(): void },
>(client: Client): Client {
  client.on('error', () => {})
  open.push(() => client.disconnect())
  return client
}

function storeOn(
  client: Parameters<typeof redisStore>[0],
  options: RedisStoreOptions = {},
): RedisStore {
  const store = redisStore(client, { instances: 1, deadlineMs: 2_000, ...options })
  open.push(() => store.close())
  return store
}

function limiterOn(store: RedisStore): RateLimiter {
  return new RateLimiter({ name: newName(), store, policy })
}

async function sizes(): Promise<string> {
  return [
    ...((await server.command('INFO', 'keyspace')) as string).matchAll(/^(db\d+):keys=(\d+)/gm),
  ]
    .map(([, db, keys]) => `${db} ${keys}`)
    .join()
}

async function selects(): Promise<number> {
  return (await callsOf(server)).select ?? 0
}

async function cutOff(client: { readonly status: string }): Promise<void> {
  await server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await waitUntil('the connection to be lost', async () => client.status !== 'ready')
  await waitUntil('the client to be connected again', async () => client.status === 'ready')
}

function redis(options: object): Redis {
  return opened(new Redis(server.port, { ...recommendedRedisOptions, ...options }))
}

test.each([
  {},
  { enableAutoPipelining: true },
  { lazyConnect: true },
  { enableOfflineQueue: true },
])(
  'if Redis has no database with that number, nothing is decided in database 0: %j',
  async (options) => {
    const limiter = limiterOn(storeOn(redis({ db: 99, ...options })))
    for (let turn = 0; turn < 3; turn += 1) {
      const asked = ['a', 'b', 'c'].map((key) => limiter.consume(key))
      for (const decision of await Promise.all(asked))
        expect(decision).toMatchObject({ source: 'local', degraded: true })
    }
    expect(await sizes()).toBe('')
  },
)

test('the error is one of the node: its breaker opens, with the reason', async () => {
  const store = storeOn(redis({ db: 99 }), { whenUnavailable: 'throw' })
  const causes: unknown[] = []
  store.on('breaker', ({ cause }) => void causes.push(cause))
  const limiter = limiterOn(store)
  await expect(limiter.consume('k')).rejects.toMatchObject({
    code: 'WEIR_STORE_FAILED',
    message: expect.stringContaining('DB index is out of range'),
  })
  await waitUntil('the breaker to open', async () => {
    await limiter.consume('k').catch(() => {})
    return store.health().nodes[0]?.state === 'open'
  })
  expect(String(causes[0])).toContain('DB index is out of range')
  expect(store.stats().nodes[0]?.calls.error).toBeGreaterThan(0)
})

test('a Redis user without permission to select causes a warning, and decides nothing until permitted', async () => {
  const rules = ['on', `>${PASSWORD}`, '~*', '+@all', '-select', '-@dangerous']
  await server.command('ACL', 'SETUSER', 'narrow', 'reset', ...rules)
  const client = redis({ db: 3, username: 'narrow', password: PASSWORD, enableReadyCheck: false })
  const limiter = limiterOn(storeOn(client))
  expect(await limiter.consume('k')).toMatchObject({ source: 'local', degraded: true })
  await waitUntil('the warning', async () => warnings.length > 0)
  expect(warnings[0]?.[1].code).toBe('WEIR_NOT_PERMITTED')
  expect(warnings[0]?.[0]).toMatch(/'select'.*run: ACL SETUSER <user> .* \+select \(see /)
  expect(await sizes()).toBe('')
  await server.command('ACL', 'SETUSER', 'narrow', '+select')
  await waitUntil('Redis decides', async () => (await limiter.consume('k2')).source === 'store')
  expect(await sizes()).toMatch(/^db3 \d+$/)
})

test('it costs one command for each connection, whatever the number of stores and calls', async () => {
  const client = redis({ db: 3 })
  const limiters = [storeOn(client), storeOn(client), storeOn(client)].map(limiterOn)
  const live = livePolicies(storeOn(client), { name: 'live', defaults: { p: policy } })
  open.push(() => live.close())
  // ioredis's command, and Weir's.
  for (const connections of [1, 2, 3]) {
    if (connections > 1) await cutOff(client)
    for (let i = 0; i < 100; i += 1)
      await Promise.all(limiters.map((limiter) => limiter.consume(`k${i}`)))
    expect(await selects()).toBe(2 * connections)
  }
  expect(await sizes()).toMatch(/^db3 \d+$/)
})

test('a client of database 0 sends none', async () => {
  const limiter = limiterOn(storeOn(redis({})))
  for (let i = 0; i < 10; i += 1) expect((await limiter.consume(`k${i}`)).source).toBe('store')
  expect(await selects()).toBe(0)
})

test('calls of several turns that wait for it keep their order', async () => {
  const limiter = limiterOn(storeOn(redis({ db: 3, enableOfflineQueue: true })))
  const asked = [limiter.consume('k'), limiter.penalty('k', { cost: 2 }), limiter.consume('k')]
  await new Promise(setImmediate)
  asked.push(limiter.peek('k'))
  const decisions = await Promise.all(asked)
  expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 2],
    [true, 0],
    [false, 0],
    [false, 0],
  ])
})

test('a database that the application selects later is the one that is selected again', async () => {
  const client = redis({ db: 3 })
  const limiter = limiterOn(storeOn(client))
  await limiter.consume('before')
  await client.select(5)
  expect((await limiter.consume('k')).remaining).toBe(2)
  await cutOff(client)
  expect((await limiter.consume('k')).remaining).toBe(1)
  // On a new connection, the process also counts a beat, and notes in a mark what it has restored.
  expect(await sizes()).toBe('db3 1,db5 3')
})

test('a Cluster has only one, and none is selected', async () => {
  const nodes = clusterClient().nodes('master')
  for (const node of nodes) await node.config('RESETSTAT')
  const limiter = limiterOn(storeOn(opened(clusterClient().duplicate())))
  for (const key of ['a', 'b', 'c']) expect((await limiter.consume(key)).source).toBe('store')
  for (const node of nodes) expect(await node.info('commandstats')).not.toContain('cmdstat_select')
})
