// What the tests of the other clients share: node-redis, GLIDE and iovalkey. They use the built
// package, as users do, and take only what it does not export from the sources of core.

import {
  fixedWindow,
  livePolicies,
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
  redisStore,
} from '@weir/core'
import { storeConformance } from '@weir/core/testing'
import { waitUntil } from '@weir/testkit'
import { describe, expect, test } from 'vitest'

/** What is passed to `redisStore`. */
export type Given = Parameters<typeof redisStore>[0]

/** A store that cannot pass without Redis. */
export const STRICT = { whenUnavailable: 'throw', deadlineMs: 10_000 } as const
/** The deadline of a store, 100 ms, on a busy machine; far less than clients may wait. */
export const IN_TIME_MS = 500
/** Without heartbeats. */
export const ALONE = { instances: 1 }

let names = 0
function newName(): string {
  names += 1
  return `other-clients-${process.pid}-${names}`
}

export function limiterOn(store: RedisStore, limit = 1_000_000): RateLimiter {
  const policy = fixedWindow({ name: 'p', limit, window: '1h' })
  return new RateLimiter({ name: newName(), store, policy })
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

/** The whole suite on each client. */
export function keepTheContract(clients: readonly (readonly [string, Given])[]): void {
  describe.each([
    ['by default', {}],
    ['with hash tags', { hashTags: 16 }],
  ] as const)('a store keeps the contract of a store, %s', (_, options: RedisStoreOptions) => {
    describe.each(clients)('on %s', (_, client) => {
      const cases = storeConformance((clock) =>
        redisStore(client, { ...STRICT, ...options, clock }),
      )
      for (const { name, run } of cases) test(name, run)
    })
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

/** An outage is noticed at once: `stop` ends the server, and `start` starts another one there. */
export async function comesBack(
  limiter: RateLimiter,
  stop: () => Promise<unknown>,
  start: () => Promise<unknown>,
): Promise<void> {
  await redisDecides(limiter)
  await stop()
  const begunMs = performance.now()
  expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
  expect(performance.now() - begunMs).toBeLessThan(IN_TIME_MS)
  await start()
  await redisDecides(limiter)
}
