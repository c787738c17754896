// Decisions while a real Cluster changes: the redirections of one call are followed, and no other
// call is asked again.

import {
  beginMove,
  type RedisCluster,
  type RedisServer,
  startCluster,
  waitUntil,
} from '@weir/testkit'
import { Cluster } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { fixedWindow, RateLimiter, recommendedClusterOptions, redisStore } from '../../src/index.js'

const policy = fixedWindow({ limit: 1_000_000, window: '1h' })
const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `k${i}`)

/** Decisions under load. */
const DECISIONS = 100_000

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
    // Nodes may disagree for longer than any number of redirections takes: the deadline ends them.
    {
      ...recommendedClusterOptions,
      slotsRefreshInterval: 500,
      maxRedirections: Number.POSITIVE_INFINITY,
    },
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

test('no decision fails, and each is counted once, while slots move under load', () =>
  exactWhile('moving', async () => {
    const [from, to] = servers.masters as [RedisServer, RedisServer]
    const slots = [...(await slotsOf(from, 'moving')).keys()]
    await move(from, to, slots.slice(0, 40))
    await move(to, from, slots.slice(0, 40))
  }))

test('no decision fails while a node leaves and comes back', () =>
  exactWhile('leaving', async () => {
    const [from, to] = servers.masters as [RedisServer, RedisServer]
    const all = Array.from({ length: Math.floor(16_384 / 3) }, (_, slot) => slot)
    await move(from, to, all)
    await waitUntil('it is gone', async () => client.nodes('master').length === 2)
    await move(to, from, all)
    await waitUntil('it is there', async () => client.nodes('master').length === 3)
  }))

test('no decision fails while a replica takes over from its master', () =>
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
  }))

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

/** Moves slots and their keys, key by key, as redis-cli does; then tells the masters. */
async function move(from: RedisServer, to: RedisServer, slots: readonly number[]): Promise<void> {
  const moveSlot = async (slot: number): Promise<void> => {
    const end = await beginMove(from, to, slot)
    await end(servers.masters)
  }
  await Promise.all(slots.map(moveSlot))
}
