// All calls of a turn to one node are one write, and the redirections of one call are followed.

import {
  type Connection,
  openConnection,
  type RedisCluster,
  type RedisServer,
  startCluster,
  waitUntil,
} from '@weir/testkit'
import { Cluster } from 'ioredis'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest'
import {
  fixedWindow,
  RateLimiter,
  type RedisLike,
  recommendedClusterOptions,
  redisStore,
} from '../../src/index.js'
import { clusterClient, singleClient, strictStore } from './clients.js'

const policy = fixedWindow({ limit: 1_000_000, window: '1h' })
const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `k${i}`)

/** Counts what goes to the sockets of some connections during an action. */
async function writesOf(
  connections: readonly object[],
  work: () => Promise<unknown>,
): Promise<number[]> {
  const counts = connections.map(() => 0)
  const undo = connections.map((connection, i) => {
    const { stream } = connection as {
      stream: Record<'_write' | '_writev', (...args: unknown[]) => void>
    }
    for (const name of ['_write', '_writev'] as const) {
      const write = stream[name]
      stream[name] = (...args) => {
        counts[i] = (counts[i] as number) + 1
        write.apply(stream, args)
      }
    }
    return () => {
      for (const name of ['_write', '_writev'] as const)
        delete (stream as Partial<typeof stream>)[name]
    }
  })
  await work()
  for (const each of undo) each()
  return counts
}

describe('calls of a turn', () => {
  test('to the nodes of a Cluster are one write each, whatever their slots and limiters', async () => {
    const cluster = clusterClient()
    const store = strictStore(cluster, { instances: 1 })
    const limiters = ['one', 'two'].map((name) => new RateLimiter({ name, store, policy }))
    const consumeAll = () =>
      Promise.all(limiters.flatMap((limiter) => keys(100).map((key) => limiter.consume(key))))
    await consumeAll()
    const nodes = cluster.nodes('master')
    expect(nodes.length).toBe(3)
    const writes = await writesOf(nodes, async () => {
      const decisions = await consumeAll()
      expect(decisions.every(({ degraded }) => !degraded)).toBe(true)
    })
    expect(writes).toEqual([1, 1, 1])
  })

  test('to nodes of a Cluster wait for connections that are being made, and go nowhere else', async () => {
    const fresh = clusterClient().duplicate()
    onTestFinished(() => fresh.disconnect())
    await new Promise((resolve) => fresh.once('ready', resolve))
    // A Cluster asks for the slots again if it cannot send a command.
    const refresh = vi.spyOn(fresh, 'refreshSlotsCache')
    const limiter = new RateLimiter({
      name: 'fresh',
      store: strictStore(fresh, { instances: 1 }),
      policy,
    })
    const consumeAll = () => Promise.all(keys(100).map((key) => limiter.consume(key)))
    await Promise.all([consumeAll(), new Promise(setImmediate).then(consumeAll)])
    expect(fresh.nodes('master').map(({ status }) => status)).toEqual(['ready', 'ready', 'ready'])
    expect(refresh).not.toHaveBeenCalled()
  })

  test('to a single server are writes of 32', async () => {
    const client = singleClient()
    const store = strictStore(client, { instances: 1 })
    const limiters = keys(80).map((name) => new RateLimiter({ name: `w${name}`, store, policy }))
    const consumeAll = () => Promise.all(limiters.map((limiter) => limiter.consume('k')))
    await consumeAll()
    expect(await writesOf([client], consumeAll)).toEqual([3])
  })

  test('go through a client that shows no connections, which finds their nodes', async () => {
    const cluster = clusterClient()
    let calls = 0
    const plain: RedisLike = {
      isCluster: true,
      get slots() {
        return cluster.slots
      },
      callBuffer(command, args) {
        calls += 1
        return cluster.callBuffer(command, args)
      },
    }
    const limiter = new RateLimiter({
      name: 'plain',
      store: strictStore(plain, { instances: 1 }),
      policy,
    })
    const decisions = await Promise.all(keys(50).map((key) => limiter.consume(key)))
    expect(decisions.every(({ degraded }) => !degraded)).toBe(true)
    expect(calls).toBeGreaterThanOrEqual(50)
  })
})

/** Decisions under load on a Cluster that changes. */
const DECISIONS = 100_000

describe("a user's client", () => {
  /** The single server's client, whose calls may fail. */
  function wrong(way: (call: number, command: string) => void) {
    const client = singleClient()
    let calls = 0
    return {
      callBuffer(command: string, args: string[]) {
        calls += 1
        way(calls, command)
        return client.callBuffer(command, args)
      },
    }
  }

  test('that throws fails that call, and no other of the write', async () => {
    const client = wrong((call) => {
      if (call === 2) throw new Error('not now')
    })
    const store = redisStore(client, { instances: 1, deadlineMs: 10_000 })
    const names = ['a', 'b', 'c', 'd']
    const limiters = names.map((name) => new RateLimiter({ name: `thrown-${name}`, store, policy }))
    const decisions = await Promise.all(limiters.map((limiter) => limiter.consume('k')))
    expect(decisions.map(({ source }) => source)).toEqual(['store', 'local', 'store', 'store'])
    expect(store.health().nodes[0]?.inFlight).toBe(0)
    await store.close()
  })

  test('that never knows the script is not asked endlessly', async () => {
    let asked = 0
    const client: RedisLike = {
      callBuffer() {
        asked += 1
        return Promise.reject(new Error('NOSCRIPT No matching script'))
      },
    }
    const limiter = new RateLimiter({
      name: 'unknown',
      store: strictStore(client, { instances: 1 }),
      policy,
    })
    await expect(limiter.consume('k')).rejects.toThrow('NOSCRIPT')
    expect(asked).toBeLessThan(10)
  })
})

describe('on a Cluster that changes', () => {
  let servers: RedisCluster
  let client: Cluster
  beforeAll(async () => {
    // Otherwise a master that loses its last slot becomes a replica.
    const args = ['--cluster-allow-replica-migration', 'no']
    servers = await startCluster({ masters: 3, replicas: 3, args })
  })
  afterAll(() => servers.stop())
  beforeEach(() => {
    client = new Cluster(
      servers.ports.map((port) => ({ host: '127.0.0.1', port })),
      // On a busy machine, nodes may disagree for longer than ioredis's 16 redirections take.
      { ...recommendedClusterOptions, slotsRefreshInterval: 500, maxRedirections: 1_000 },
    )
  })
  afterEach(() => client.disconnect())

  /** Sends requests from 64 loops during a change, and compares what was granted with what is
   *  there. */
  async function exactWhile(name: string, change: () => Promise<unknown>): Promise<void> {
    const store = redisStore(client, { prefix: name, instances: 1, deadlineMs: 10_000 })
    let cause: unknown
    store.on('fallback', (event) => {
      cause = event.cause
    })
    const limiter = new RateLimiter({ name, store, policy })
    const names = keys(400)
    const counts = new Map(names.map((key) => [key, 0]))
    let isOver = false
    let decided = 0
    const worker = async (first: number): Promise<void> => {
      for (let i = first; !isOver; i += 7) {
        const key = names[i % names.length] as string
        const { allowed, degraded } = await limiter.consume(key)
        expect({ allowed, degraded }, String(cause)).toEqual({ allowed: true, degraded: false })
        decided += 1
        counts.set(key, (counts.get(key) as number) + 1)
      }
    }
    const load = Promise.all(Array.from({ length: 64 }, (_, i) => worker(i)))
    try {
      const changed = async (): Promise<void> => {
        await waitUntil('all keys to be there', async () => !names.some((key) => !counts.get(key)))
        await change()
        const most = Math.max(DECISIONS, decided + DECISIONS / 10)
        await waitUntil('all', async () => decided > most, 90_000)
      }
      await Promise.race([load, changed()])
    } finally {
      isOver = true
    }
    await load
    for (const key of names) {
      const { remaining } = await limiter.peek(key)
      expect(policy.limit - remaining).toBe(counts.get(key))
    }
    expect(store.health().nodes.every(({ state }) => state === 'closed')).toBe(true)
    await store.close()
  }

  test(
    'no decision fails, and each is counted once, while slots move under load',
    () =>
      exactWhile('moving', async () => {
        const [from, to] = servers.masters as [RedisServer, RedisServer]
        const slots = [...(await slotsOf(from, 'moving')).keys()]
        await move(from, to, slots.slice(0, 40))
        await move(to, from, slots.slice(0, 40))
      }),
    120_000,
  )

  test(
    'nor while a node leaves and comes back',
    () =>
      exactWhile('leaving', async () => {
        const [from, to] = servers.masters as [RedisServer, RedisServer]
        const all = Array.from({ length: Math.floor(16_384 / 3) }, (_, slot) => slot)
        await move(from, to, all)
        await waitUntil('it is gone', async () => client.nodes('master').length === 2)
        await move(to, from, all)
        await waitUntil('it is there', async () => client.nodes('master').length === 3)
      }),
    120_000,
  )

  test(
    'nor while a replica takes over from its master',
    () =>
      exactWhile('failover', async () => {
        const [replica] = servers.replicas as [RedisServer]
        const isMaster = async () => String(await replica.command('ROLE')).startsWith('master')
        // A replica hears of earlier moves by gossip, and takes over what it knows of.
        await waitUntil('all nodes to agree', async () => {
          const views = await Promise.all(servers.nodes.map(ownersIn))
          return new Set(views).size === 1
        })
        await replica.command('CLUSTER', 'FAILOVER')
        await waitUntil('it is the master', isMaster)
      }),
    120_000,
  )

  test('before any connection is open, no request is decided elsewhere', async () => {
    const store = strictStore(client, { prefix: 'early', instances: 1 })
    const limiter = new RateLimiter({ name: 'early', store, policy })
    const decisions = await Promise.all(keys(300).map((key) => limiter.consume(key)))
    expect(decisions.map(({ source, remaining }) => [source, remaining])).toEqual(
      keys(300).map(() => ['store', policy.limit - 1]),
    )
    await store.close()
  })

  /** Which node serves which slots, according to a node. */
  async function ownersIn(node: RedisServer): Promise<string> {
    const lines = String(await node.command('CLUSTER', 'NODES'))
      .trim()
      .split('\n')
    const owners = lines.map((line) => {
      const [id, , , , , , , , ...slots] = line.split(' ')
      return `${id} ${slots.join(' ')}`
    })
    return owners.sort().join('\n')
  }

  /** The keys on a node, by slot. */
  async function slotsOf(node: RedisServer, prefix: string): Promise<Map<number, string[]>> {
    const names = ((await node.command('KEYS', `${prefix}:*`)) as string[]).map(String)
    const slots = new Map<number, string[]>()
    for (const name of names) {
      const slot = Number(await node.command('CLUSTER', 'KEYSLOT', name))
      slots.set(slot, [...(slots.get(slot) ?? []), name])
    }
    return slots
  }

  /** Moves slots and their keys, key by key; then tells the masters. */
  async function move(from: RedisServer, to: RedisServer, slots: readonly number[]): Promise<void> {
    const masters = servers.masters.map(({ port }) => openConnection(port))
    const [source, target] = [from, to].map(({ port }) => openConnection(port)) as [
      Connection,
      Connection,
    ]
    const fromId = String(await source.command('CLUSTER', 'MYID'))
    const toId = String(await target.command('CLUSTER', 'MYID'))
    // The new owner first; otherwise a client is redirected back and forth until it knows.
    const owned = async (slot: number): Promise<void> => {
      for (const node of [target, source, ...masters])
        await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', toId)
    }
    const full = await slotsOf(from, '*')
    const isFull = (slot: number): boolean => full.has(slot)
    for (const slot of slots.filter(isFull)) {
      await target.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId)
      await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId)
      for (const name of full.get(slot) as string[])
        await source.command('MIGRATE', '127.0.0.1', to.port, name, 0, 10_000)
      await owned(slot)
    }
    await Promise.all(slots.filter((slot) => !isFull(slot)).map(owned))
    for (const node of [...masters, source, target]) node.close()
  }
})
