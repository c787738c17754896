// The permissions of a Redis user that docs/redis.md lists, on real servers: Weir needs no more,
// and missing ones cause a warning.

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openConnection, type RedisServer, waitUntil } from '@weir/testkit'
import { Cluster, Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest'
import type { RedisLike } from '../../src/entries/store.js'
import {
  budget,
  fixedWindow,
  type Policy,
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
  recommendedClusterOptions,
  recommendedRedisOptions,
  redisStore,
  slidingCounter,
  slidingLog,
  tokenBucket,
} from '../../src/index.js'
import { COMMANDS } from '../../src/redis/permissions.js'
import { newName } from './clients.js'
import { movingSlot } from './moving-slot.js'
import { ownServer } from './own.js'
import { workerRedis } from './servers.js'

const docs = readFileSync(resolve(import.meta.dirname, '../../../../docs/redis.md'), 'utf8')
/** The rules in the documented lines. */
const [RULES, OF_A_CLUSTER] = [...docs.matchAll(/^ACL SETUSER weir (.*)$/gm)].map((match) => {
  return (match[1] as string).split(' ')
}) as [string[], string[]]
const PASSWORD = RULES.find((rule) => rule.startsWith('>'))?.slice(1) as string

const server = await ownServer()

type Server = Pick<RedisServer, 'command'>

const open: (() => unknown)[] = []
let emitted: MockInstance
beforeEach(() => {
  emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
  emitted.mockRestore()
})

function warnings(): string[] {
  const calls = emitted.mock.calls as [string, { code: string }][]
  return calls.filter(([, { code }]) => code === 'WEIR_NOT_PERMITTED').map(([text]) => text)
}

/** A user with the documented rules and these. */
async function newUser(at: Server, ...more: readonly string[]): Promise<void> {
  await at.command('ACL', 'SETUSER', 'weir', 'reset', ...RULES, ...more)
  await at.command('ACL', 'LOG', 'RESET')
}

const USER = { username: 'weir', password: PASSWORD }

function opened<Client extends Redis | Cluster>(client: Client): Client {
  client.on('error', () => {})
  open.push(() => client.disconnect())
  return client
}

function redis(): Redis {
  return opened(new Redis(server.port, { ...recommendedRedisOptions, ...USER }))
}

function storeOn(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  const store = redisStore(client, { deadlineMs: 2_000, ...options })
  open.push(() => store.close())
  return store
}

const window = '5m'
const POLICIES: Policy[] = [
  fixedWindow({ limit: 20, window }),
  slidingLog({ limit: 20, window }),
  slidingCounter({ limit: 20, window }),
  tokenBucket({ capacity: 20, refill: 20, every: window }),
]

/** Everything that a store is asked for while Redis is well. */
async function doAll(store: RedisStore, policy: Policy | Policy[]): Promise<void> {
  const limiter = new RateLimiter({ name: newName(), store, policy, shared: true })
  for (let i = 0; i < 3; i += 1) {
    const decisions = await Promise.all([0, 1, 2].map(() => limiter.consume('k')))
    const [first] = decisions
    if (first === undefined) throw new Error('no decision')
    expect(decisions.map(({ source }) => source)).toEqual(['store', 'store', 'store'])
    await limiter.consume('k', { cost: 2 })
    await limiter.peek('k')
    await limiter.refund(first)
    await limiter.refund('k', { cost: 1 })
    await limiter.penalty('k', { cost: 30 })
    expect((await limiter.consume('k')).allowed).toBe(false)
    await limiter.reset('k')
  }
  // As short as possible, so that expired keys are deleted.
  const short = new RateLimiter({
    name: newName(),
    store,
    policy: slidingLog({ limit: 2, window: 20 }),
  })
  for (let i = 0; i < 6; i += 1) {
    await short.consume('k')
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}

/** What was refused, and in which context. */
async function refusals(at: Server): Promise<unknown[]> {
  const log = (await at.command('ACL', 'LOG')) as unknown[][]
  return log
    .map((entry) => entry[entry.indexOf('object') + 1])
    .filter((object) => !String(object).startsWith('client'))
}

test('the documented rules name all commands that Weir sends, and no others except those that ioredis needs', () => {
  const src = resolve(import.meta.dirname, '../../src')
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  const texts = files
    .filter((file) => /\.lua$|heartbeat\.ts$/.test(file))
    .map((file) => readFileSync(join(src, file), 'utf8'))
    .join('\n')
  const called = [...texts.matchAll(/call\('([A-Z]+)'/g)].map((match) => match[1] as string)
  expect([...new Set([...called, 'EVAL', 'EVALSHA'])].sort()).toEqual([...new Set(COMMANDS)].sort())
  const named = RULES.filter((rule) => rule.startsWith('+')).map((rule) =>
    rule.slice(1).toUpperCase(),
  )
  expect(named.sort()).toEqual([...COMMANDS, 'INFO'].sort())
})

describe('with the documented rules and no others', () => {
  test.each(POLICIES.map((policy) => [policy.name, policy] as const))(
    '%s: everything works',
    async (_, policy) => {
      await newUser(server)
      const store = storeOn(redis())
      await doAll(store, policy)
      await waitUntil('it is counted', async () => store.health().instances >= 1)
      await store.settings?.watch?.(6_000)
      expect(await refusals(server)).toEqual([])
      expect(warnings()).toEqual([])
    },
  )

  test('what was admitted in an outage is counted, and what was lost is restored', async () => {
    await newUser(server)
    const store = storeOn(redis(), { deadlineMs: 200 })
    const limiters = POLICIES.map((policy) => new RateLimiter({ name: newName(), store, policy }))
    for (const limiter of limiters) await limiter.consume('k', { cost: 2 })
    await new Promise((resolve) => setTimeout(resolve, 5))
    await server.command('FLUSHALL')
    for (const limiter of limiters) await limiter.consume('k')
    for (const limiter of limiters) {
      await waitUntil(
        'what was lost is there',
        async () => (await limiter.peek('k')).remaining <= 18,
      )
    }
    // On a busy machine, it may be half-open again before anybody looks.
    let wasOpen = false
    store.on('breaker', ({ state }) => {
      wasOpen ||= state === 'open'
    })
    // The server answers nobody, and forgets nothing.
    await server.command('CONFIG', 'SET', 'maxmemory', 1)
    await waitUntil('the breaker has opened', async () => {
      for (const limiter of limiters) await limiter.consume('k', { cost: 1 })
      return wasOpen
    })
    await server.command('CONFIG', 'SET', 'maxmemory', 0)
    await waitUntil('all is counted', async () => {
      const { state, localKeys } = store.health()
      return state !== 'open' && localKeys === 0
    })
    expect(await refusals(server)).toEqual([])
    expect(warnings()).toEqual([])
  })

  test('a Cluster works with its additional rules', async () => {
    const ports = workerRedis().clusterPorts
    const connections = ports.map((port) => openConnection(port))
    for (const node of connections) {
      await newUser(node, ...OF_A_CLUSTER)
      open.push(() => node.close())
    }
    const nodes = ports.map((port) => ({ host: '127.0.0.1', port }))
    const redisOptions = { ...recommendedClusterOptions.redisOptions, ...USER }
    const client = opened(new Cluster(nodes, { ...recommendedClusterOptions, redisOptions }))
    const store = storeOn(client)
    for (const policy of POLICIES) await doAll(store, policy)
    await doAll(store, [
      fixedWindow({ name: 'a', limit: 20, window }),
      slidingLog({ name: 'b', limit: 20, window }),
    ])
    // A slot that is moving: the key is no longer there, so its call is sent to the other node.
    const limiter = new RateLimiter({
      name: newName(),
      store,
      policy: slidingLog({ limit: 2, window }),
    })
    const moving = await movingSlot('on%20its%20way')
    expect((await limiter.consume('on its way')).source).toBe('store')
    expect(await moving.to.command('CLUSTER', 'COUNTKEYSINSLOT', moving.slot)).toBe(1)
    await moving.stay()
    for (const node of connections) {
      expect(await refusals(node)).toEqual([])
      await node.command('ACL', 'DELUSER', 'weir')
    }
    expect(warnings()).toEqual([])
  })

  test('keys of others cannot be reached', async () => {
    await newUser(server)
    const client = redis()
    await new Promise((resolve) => client.once('ready', resolve))
    await expect(client.get('other')).rejects.toThrow('NOPERM')
  })
})

describe('a missing permission causes one warning, with the remedy', () => {
  const limiterOn = (store: RedisStore, policy: Policy) =>
    new RateLimiter({ name: newName(), store, policy, shared: true })

  async function warned(): Promise<string> {
    await waitUntil('it is warned of', async () => warnings().length > 0)
    await new Promise((resolve) => setTimeout(resolve, 50))
    const [text, ...others] = warnings()
    expect(others).toEqual([])
    expect(text).toMatch(
      /; run: ACL SETUSER <user> ~weir:\* \+evalsha \+eval \+time .*\+zrem \(see /,
    )
    return text as string
  }

  test.each([
    ['TIME', fixedWindow({ limit: 2, window })],
    ['GET', fixedWindow({ limit: 2, window })],
    ['SET', tokenBucket({ capacity: 2, refill: 1, every: window })],
    ['LINDEX', slidingLog({ limit: 2, window })],
    ['GETRANGE', budget({ limit: 2 })],
    ['SETRANGE', budget({ limit: 9, holdTimeout: '1h' })],
    ['RPUSH', slidingLog({ limit: 2, window })],
    ['ZADD', fixedWindow({ limit: 2, window })],
    ['ZREMRANGEBYSCORE', fixedWindow({ limit: 2, window })],
  ])('%s', async (command, policy) => {
    await newUser(server, `-${command.toLowerCase()}`)
    const limiter = limiterOn(storeOn(redis()), policy)
    for (let i = 0; i < 6; i += 1) await limiter.consume('k')
    expect(await warned()).toContain(`what Weir needs: ${command}; run`)
  })

  test('several, all at once, and the check leaves no key', async () => {
    await newUser(server, '-time', '-lpop', '-zrem')
    await limiterOn(storeOn(redis()), fixedWindow({ limit: 2, window })).consume('k')
    expect(await warned()).toContain('what Weir needs: TIME, LPOP, ZREM; run')
    expect(await server.command('KEYS', '*:permissions')).toEqual([])
  })

  test('DEL, by a reset', async () => {
    await newUser(server, '-del')
    const limiter = limiterOn(storeOn(redis()), fixedWindow({ limit: 2, window }))
    await limiter.consume('k')
    await expect(limiter.reset('k')).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
    expect(await warned()).toContain('what Weir needs: DEL; run')
  })

  test.each([
    ['evalsha', ['-evalsha'], "'evalsha' command"],
    ['eval', ['-eval', '-evalsha'], "'evalsha' command"],
  ])('%s', async (_, rules, expected) => {
    await newUser(server, ...rules)
    const policy = fixedWindow({ limit: 2, window })
    await limiterOn(storeOn(redis(), { instances: 1 }), policy).consume('k')
    expect(await warned()).toMatch(new RegExp(`NOPERM .*${expected}`))
  })

  test('the pattern of keys', async () => {
    await newUser(server, 'resetkeys', '~other:*')
    await limiterOn(storeOn(redis()), fixedWindow({ limit: 2, window })).consume('k')
    expect(await warned()).toMatch(/NOPERM .*keys?/)
  })

  test('what is refused only when an outage is over', async () => {
    await newUser(server)
    const store = storeOn(redis(), { deadlineMs: 200, instances: 1 })
    const limiter = limiterOn(store, slidingLog({ limit: 100, window }))
    await limiter.consume('k')
    await server.command('CONFIG', 'SET', 'maxmemory', 1)
    await waitUntil('the breaker is open', async () => {
      await limiter.consume('k')
      return store.health().state === 'open'
    })
    await server.command('ACL', 'SETUSER', 'weir', '-rpush', '-lset')
    await server.command('CONFIG', 'SET', 'maxmemory', 0)
    expect(await warned()).toContain('RPUSH, LSET')
  })
})
