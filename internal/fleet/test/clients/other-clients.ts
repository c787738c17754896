// What the tests of the other clients share: node-redis, GLIDE and iovalkey. They use the built
// package, as users do, and take only what it does not export from the sources of core.

import { fixedWindow, RateLimiter, type RedisStore, redisStore } from '@weir/core'
import { livePolicies } from '@weir/core/live'
import { storeConformance } from '@weir/core/testing'
import { beginMove, openConnection, waitUntil } from '@weir/testkit'
import { describe, expect, test } from 'vitest'

/** What is passed to `redisStore`. */
export type Given = Parameters<typeof redisStore>[0]

/** A store that cannot pass without Redis. */
export const STRICT = { whenUnavailable: 'throw', deadlineMs: 10_000 } as const
/** Without heartbeats. */
export const ALONE = { instances: 1 }

let names = 0
function newName(): string {
  names += 1
  return `other-clients-${process.pid}-${names}-${Date.now()}`
}

export function limiterOn(
  store: RedisStore,
  limit = 1_000_000,
  name: string = newName(),
): RateLimiter {
  const policy = fixedWindow({ name: 'p', limit, window: '1h' })
  return new RateLimiter({ name, store, policy })
}

/** Waits until Redis itself has decided. */
export function redisDecides(limiter: RateLimiter): Promise<void> {
  return waitUntil('Redis decides', async () => (await limiter.consume('k')).source === 'store')
}

/** Sends requests at intervals. Returns a function that ends that. */
export function asking(limiter: RateLimiter, keys: readonly string[] = ['k'], ms = 20): () => void {
  const timer = setInterval(() => {
    for (const key of keys) limiter.consume(key).catch(() => {})
  }, ms)
  return () => clearInterval(timer)
}

/** Walks of the suite, which show that kernels keep their promises, whichever client runs them. */
const WALKS = /: (a random walk |\(k\) of several limits)/

/**
 * On a Cluster the suite runs. A single server answers the same scripts, so there only traces run:
 * of each algorithm, with each mode and so with each kind of reply.
 */
export function keepTheContract(single: Given, cluster?: Given): void {
  const casesOn = (client: Given) =>
    storeConformance((clock) => redisStore(client, { ...STRICT, clock })).filter(
      ({ name }) => !WALKS.test(name),
    )
  const traces = casesOn(single).filter(({ name }) => name.startsWith('trace '))

  describe('a store keeps the contract of a store', () => {
    test.each(traces)('on a single server: $name', ({ run }) => run())
    test.each(cluster ? casesOn(cluster) : [])('on a Cluster: $name', ({ run }) => run())
  })
}

/** Live limits and the heartbeat, which have their own scripts. */
export async function countsProcessesAndSetsLimits(client: Given): Promise<void> {
  const store = redisStore(client, STRICT)
  const policyOf = (limit: number) => fixedWindow({ name: 'p', limit, window: '1h' })
  const name = newName()
  const live = livePolicies(store, { name, defaults: { api: policyOf(1_000_000) } })
  try {
    const limiter = new RateLimiter({ name, store, policy: live.policy('api') })
    await live.set('api', policyOf(7))
    await waitUntil('the limit is 7', async () => (await limiter.peek('k')).limit === 7)
    await waitUntil('it is counted', async () => store.health().instances >= 1)
  } finally {
    live.close()
    await store.close()
  }
}

/**
 * While a key moves to another node of a Cluster, its requests are redirected by ASK, and
 * afterwards by MOVED, as the client still asks the first node. Each request is counted once.
 */
export async function followsAKey(client: Given, ports: readonly number[]): Promise<void> {
  const name = newName()
  const store = redisStore(client, { ...STRICT, ...ALONE })
  const limiter = limiterOn(store, 10, name)
  const left = async () => (await limiter.consume('k')).remaining
  expect(await left()).toBe(9)
  const nodes = ports.map((port) => ({ port, ...openConnection(port) }))
  try {
    const keys = await Promise.all(nodes.map((node) => node.command('KEYS', `*${name}*`)))
    const masters = await Promise.all(
      nodes.map(async (node) => ((await node.command('ROLE')) as string[])[0] === 'master'),
    )
    const from = keys.findIndex((found, i) => masters[i] && (found as string[]).length > 0)
    const to = masters.findIndex((isMaster, i) => isMaster && i !== from)
    const [source, target] = [nodes[from], nodes[to]] as [(typeof nodes)[0], (typeof nodes)[0]]
    const [key] = keys[from] as [string]
    const slot = (await source.command('CLUSTER', 'KEYSLOT', key)) as number
    // Keys of other tests may be in the same slot.
    const end = await beginMove(source, target, slot)
    expect(await left()).toBe(8)
    await end()
    expect(await left()).toBe(7)
    expect(await left()).toBe(6)
  } finally {
    for (const node of nodes) node.close()
    await store.close()
  }
}

/** Before there is a server, and after it has gone, decisions are local; and Redis decides while it
 *  is there. */
export async function comesAndGoes(
  limiters: readonly RateLimiter[],
  start: () => Promise<{ stop(): Promise<void> }>,
): Promise<void> {
  const areLocal = async () => {
    for (const limiter of limiters)
      expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
  }
  await areLocal()
  const first = await start()
  for (const limiter of limiters) await redisDecides(limiter)
  await first.stop()
  await areLocal()
  await start()
  for (const limiter of limiters) await redisDecides(limiter)
}
