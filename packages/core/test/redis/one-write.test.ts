import type { Cluster, Redis } from 'ioredis'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { RedisLike } from '../../src/entries/store.js'
import { fixedWindow, RateLimiter, redisStore } from '../../src/index.js'
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

/** A client of this test alone: stores of other files may beat on theirs. */
async function own<Client extends Redis | Cluster>(client: Client): Promise<Client> {
  onTestFinished(() => client.disconnect())
  await new Promise((resolve) => client.once('ready', resolve))
  return client
}

describe('calls of a turn', () => {
  test('to the nodes of a Cluster are one write each, whatever their slots and limiters', async () => {
    const cluster = await own(clusterClient().duplicate())
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
    const fresh = await own(clusterClient().duplicate())
    // A Cluster asks for the slots again if it cannot send a command.
    const refresh = vi.spyOn(fresh, 'refreshSlotsCache')
    const store = strictStore(fresh, { instances: 1 })
    const limiter = new RateLimiter({ name: 'fresh', store, policy })
    const consumeAll = () => Promise.all(keys(100).map((key) => limiter.consume(key)))
    await Promise.all([consumeAll(), new Promise(setImmediate).then(consumeAll)])
    expect(fresh.nodes('master').map(({ status }) => status)).toEqual(['ready', 'ready', 'ready'])
    expect(refresh).not.toHaveBeenCalled()
  })

  test('to a single server are writes of 32', async () => {
    const client = await own(singleClient().duplicate())
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
    const store = strictStore(plain, { instances: 1 })
    const limiter = new RateLimiter({ name: 'plain', store, policy })
    const decisions = await Promise.all(keys(50).map((key) => limiter.consume(key)))
    expect(decisions.every(({ degraded }) => !degraded)).toBe(true)
    expect(calls).toBeGreaterThanOrEqual(50)
  })
})

test("a user's client that throws fails that call, and no other of the write", async () => {
  let calls = 0
  const client: RedisLike = {
    callBuffer(command, args) {
      calls += 1
      if (calls === 2) throw new Error('not now')
      return singleClient().callBuffer(command, args)
    },
  }
  const store = redisStore(client, { instances: 1, deadlineMs: 10_000 })
  const names = ['a', 'b', 'c', 'd']
  const limiters = names.map((name) => new RateLimiter({ name: `thrown-${name}`, store, policy }))
  const decisions = await Promise.all(limiters.map((limiter) => limiter.consume('k')))
  expect(decisions.map(({ source }) => source)).toEqual(['store', 'local', 'store', 'store'])
  expect(store.health().nodes[0]?.inFlight).toBe(0)
  await store.close()
})

test('a server that never knows the script is not asked endlessly', async () => {
  const callBuffer = vi.fn().mockRejectedValue(new Error('NOSCRIPT No matching script'))
  const store = strictStore({ callBuffer }, { instances: 1 })
  const limiter = new RateLimiter({ name: 'unknown', store, policy })
  await expect(limiter.consume('k')).rejects.toThrow('NOSCRIPT')
  expect(callBuffer.mock.calls.length).toBeLessThan(10)
})
