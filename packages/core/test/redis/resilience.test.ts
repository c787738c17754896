// What a user gets when Redis has a fault, in single steps; the fault matrix
// (internal/fleet/src/faults) tests the same at scale.

import { type RedisServer, startRedis, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  fixedWindow,
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
  recommendedRedisOptions,
  redisStore,
  slidingCounter,
  slidingLog,
  tokenBucket,
  type WhenUnavailable,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { clusterClient, singleClient, strictStore } from './clients.js'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

let runs = 0
function newName(): string {
  runs += 1
  return `r${Date.now().toString(36)}${runs}`
}

/**
 * A loss within the millisecond in which a key was last seen cannot be detected.
 */
function aMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5))
}

function connect(port: number, options: object = {}): Redis {
  const client = new Redis(port, { ...recommendedRedisOptions, ...options })
  client.on('error', () => {})
  open.push({ close: () => client.disconnect() })
  return client
}

async function ready(client: Redis): Promise<Redis> {
  if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve))
  return client
}

function storeOn(client: Redis, options: RedisStoreOptions = {}): RedisStore {
  const store = redisStore(client, { instances: 1, ...options })
  open.push(store)
  return store
}

/** Waits until Redis decides again, and has counted what was admitted without it. */
function _isBack(store: RedisStore): Promise<void> {
  return waitUntil('the store is back', async () => {
    const { state, localKeys } = store.health()
    return state !== 'open' && localKeys === 0
  })
}

/** A port on which nobody listens. */
async function deadPort(): Promise<number> {
  const other = await startRedis()
  await other.stop()
  return other.port
}

describe('with Redis absent from the start', () => {
  const policy = slidingLog({ name: 'p', limit: 2, window: '1m' })

  async function limiterWith(whenUnavailable?: WhenUnavailable): Promise<RateLimiter> {
    const store = storeOn(connect(await deadPort()))
    expect(store.health().state).toBe('never-connected')
    return new RateLimiter({
      name: newName(),
      store,
      policy,
      ...(whenUnavailable && { whenUnavailable }),
    })
  }

  test('limits hold locally by default, from the first request', async () => {
    const limiter = await limiterWith()
    const decisions = [
      await limiter.consume('k'),
      await limiter.consume('k'),
      await limiter.consume('k'),
    ]
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false])
    expect(decisions[0]).toMatchObject({
      source: 'local',
      degraded: true,
      limit: 2,
      remaining: 1,
      policy,
    })
  })

  test('a limiter may allow, deny or throw instead', async () => {
    const allowing = await limiterWith('allow')
    for (let i = 0; i < 5; i += 1)
      expect(await allowing.consume('k')).toMatchObject({ allowed: true, degraded: true })
    expect(await (await limiterWith('deny')).consume('k')).toMatchObject({
      allowed: false,
      reason: 'store-unavailable',
    })
    await expect((await limiterWith('throw')).consume('k')).rejects.toMatchObject({
      code: 'WEIR_STORE_FAILED',
    })
  })

  test('a reset reports that it could not be done', async () => {
    await expect((await limiterWith()).reset('k')).rejects.toMatchObject({
      code: 'WEIR_STORE_FAILED',
    })
  })
})

test('a client with lazyConnect is connected once, in the background', async () => {
  const client = connect(server.port, { lazyConnect: true })
  const connects = vi.spyOn(client, 'connect')
  const limiter = new RateLimiter({
    name: newName(),
    store: storeOn(client),
    policy: slidingLog({ limit: 9, window: '1m' }),
  })
  await Promise.all([limiter.consume('k'), limiter.consume('k')])
  await waitUntil('Redis decides', async () => (await limiter.consume('k')).source === 'store')
  expect(connects).toHaveBeenCalledTimes(1)
})

test('a key that Redis lost is restored to what was last seen; one that was reset or refunded is not', async () => {
  const client = await ready(connect(server.port))
  const losses: string[] = []
  // A long deadline: the machine may be busy, and this is not about time.
  const [store, elsewhere] = [
    storeOn(client, { deadlineMs: 10_000 }),
    storeOn(client, { deadlineMs: 10_000 }),
  ]
  store.on('data-loss', ({ key }) => losses.push(key))
  const name = newName()
  for (const policy of [
    fixedWindow({ name: 'f', limit: 10, window: '5m' }),
    slidingLog({ name: 'l', limit: 10, window: '5m' }),
  ]) {
    const limiter = new RateLimiter({ name, store, policy, shared: true })
    const peer = new RateLimiter({ name, store: elsewhere, policy, shared: true })
    losses.length = 0
    for (const key of ['lost', 'reset', 'refunded']) await limiter.consume(key, { cost: 4 })
    await aMoment()
    await client.flushall()
    await limiter.consume('lost')
    await waitUntil('the key is raised', async () => (await limiter.peek('lost')).remaining === 5)
    await peer.consume('reset')
    await peer.reset('reset')
    await limiter.consume('refunded')
    await waitUntil(
      'the key is raised',
      async () => (await limiter.peek('refunded')).remaining === 5,
    )
    await peer.refund('refunded', { cost: 9 })
    for (const key of ['reset', 'refunded']) await limiter.consume(key)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(losses).toEqual(['lost', 'refunded'])
    expect((await limiter.peek('reset')).remaining).toBe(9)
    expect((await limiter.peek('refunded')).remaining).toBe(9)
  }
})

const KERNELS = [
  tokenBucket({ name: 'b', capacity: 5, refill: 5, every: '5m' }),
  fixedWindow({ name: 'f', limit: 5, window: '5m' }),
  slidingLog({ name: 'l', limit: 5, window: '5m' }),
  slidingCounter({ name: 'c', limit: 5, window: '5m' }),
]

describe.each(KERNELS)(
  'a reset or refund by another process was taken for a loss: $algorithm',
  (policy) => {
    function twoProcesses(
      client: Redis,
    ): [mine: RateLimiter, theirs: RateLimiter, losses: string[]] {
      const stores = [
        storeOn(client, { deadlineMs: 10_000 }),
        storeOn(client, { deadlineMs: 10_000 }),
      ] as const
      const losses: string[] = []
      stores[0].on('data-loss', ({ key }) => losses.push(key))
      const name = newName()
      const [mine, theirs] = stores.map(
        (store) => new RateLimiter({ name, store, policy, shared: true }),
      )
      return [mine as RateLimiter, theirs as RateLimiter, losses]
    }

    test('and a request that was charged was denied', async () => {
      const [mine, theirs, losses] = twoProcesses(await ready(connect(server.port)))
      await mine.consume('u', { cost: 5 })
      await theirs.reset('u')
      const decisions = await Promise.all([mine.consume('u'), mine.consume('u')])
      expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
        [true, 4],
        [true, 3],
      ])
      expect(losses).toEqual([])
    })

    test('and what was given back was taken again', async () => {
      const [mine, theirs, losses] = twoProcesses(await ready(connect(server.port)))
      await mine.consume('u', { cost: 5 })
      await theirs.refund('u', { cost: 4 })
      for (const left of [3, 2]) expect((await mine.consume('u')).remaining).toBe(left)
      expect(losses).toEqual([])
    })
  },
)

test('a bucket of which another process gave something back was restored when the rest had drained', async () => {
  const client = await ready(connect(server.port))
  const clock = fakeClock()
  const policy = tokenBucket({ capacity: 10, refill: 10, every: '10s' })
  const name = newName()
  const [mine, theirs] = [0, 1].map(() => {
    const store = storeOn(client, { deadlineMs: 10_000, clock })
    return new RateLimiter({ name, store, policy, shared: true })
  }) as [RateLimiter, RateLimiter]
  await mine.consume('u', { cost: 10 })
  await theirs.refund('u', { cost: 9 })
  clock.advance('1s')
  expect((await mine.consume('u')).remaining).toBe(9)
  expect((await mine.peek('u')).remaining).toBe(9)
})

test.each(['peek', 'a cost of 0', 'refund', 'penalty'] as const)(
  'a key that was lost was permanently forgotten by a %s',
  async (what) => {
    const client = await ready(connect(server.port))
    const limiter = new RateLimiter({
      name: newName(),
      store: storeOn(client, { deadlineMs: 10_000 }),
      policy: fixedWindow({ limit: 10, window: '5m' }),
    })
    await limiter.consume('k', { cost: 8 })
    await aMoment()
    await client.flushall()
    if (what === 'peek') await limiter.peek('k')
    else if (what === 'a cost of 0') await limiter.consume('k', { cost: 0 })
    else if (what === 'refund') await limiter.refund('k', { cost: 1 })
    else await limiter.penalty('k', { cost: 1 })
    if (what !== 'penalty') expect((await limiter.consume('k')).allowed).toBe(true)
    await waitUntil('the key is raised', async () => (await limiter.peek('k')).remaining === 1)
  },
)

test('stores count each other, and leave when they are closed', async () => {
  const client = await ready(connect(server.port))
  const prefix = newName()
  const stores = [0, 1, 2].map(() => redisStore(client, { prefix }))
  for (const store of stores)
    await new RateLimiter({
      store,
      policy: slidingLog({ limit: 9, window: '1m' }),
      shared: true,
    }).consume('k')
  await waitUntil(
    'all are counted',
    async () => (await client.zcard(`${prefix}:{instances}`)) === 3,
  )
  await stores[2]?.close()
  expect(await client.zcard(`${prefix}:{instances}`)).toBe(2)
  await Promise.all(stores.map((store) => store.close()))
})

test('policies with keys in different slots of a Cluster are all charged, or none', async () => {
  const store = strictStore(clusterClient())
  const address = slidingLog({ name: 'address', limit: 5, window: '1m' })
  const account = slidingLog({ name: 'account', limit: 2, window: '1m' })
  const name = newName()
  const limiter = new RateLimiter({ name, store, policy: address })
  const policy = [address, { policy: account, key: 'account-of-another-slot' }]
  const decisions = []
  for (let i = 0; i < 4; i += 1) decisions.push(await limiter.consume('a1', { policy }))
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false, false])
  expect(decisions[2]).toMatchObject({
    policy: account,
    policies: [
      { policy: address, remaining: 3 },
      { policy: account, remaining: 0 },
    ],
  })
  expect((await limiter.peek('a1')).remaining).toBe(3)
  await limiter.refund(decisions[0] as (typeof decisions)[0])
  expect((await limiter.peek('a1', { policy })).policies.map(({ remaining }) => remaining)).toEqual(
    [4, 1],
  )
})

test('a reset of policies with keys in different slots of a Cluster was refused with CROSSSLOT', async () => {
  const limiter = new RateLimiter({
    name: newName(),
    store: strictStore(clusterClient(), { denyCache: true }),
    policy: [
      slidingLog({ name: 'address', limit: 1, window: '1m' }),
      {
        policy: slidingLog({ name: 'account', limit: 1, window: '1m' }),
        key: 'a1',
        tag: 'account-of-another-slot',
      },
    ],
  })
  for (let i = 0; i < 2; i += 1) {
    expect((await limiter.consume('a1')).allowed).toBe(true)
    expect((await limiter.consume('a1')).allowed).toBe(false)
    await limiter.reset('a1')
  }
})

test('a request refused in one slot of a Cluster cost a bucket in another a unit', async () => {
  const limiter = new RateLimiter({
    name: newName(),
    store: strictStore(clusterClient()),
    policy: [
      tokenBucket({ name: 'few', capacity: 1, refill: 1, every: '1h' }),
      {
        policy: tokenBucket({ name: 'many', capacity: 5, refill: 1, every: '1h' }),
        key: 'another-slot',
        cost: 2,
      },
    ],
  })
  await limiter.penalty('x', { cost: 1 })
  for (let i = 0; i < 3; i += 1) expect((await limiter.consume('x')).allowed).toBe(false)
  expect((await limiter.peek('x')).policies[1]?.remaining).toBe(3)
})

test.each([
  [{ deadlineMs: 0 }],
  [{ deadlineMs: 1.5 }],
  [{ maxInFlight: -1 }],
  [{ whenUnavailable: 'maybe' }],
  [{ instances: 0 }],
  [{ instances: null }],
  [{ breaker: 5 }],
  [{ log: 5 }],
  [{ denyCache: 'no' }],
  [{ timeoutMs: 5 }],
  [{ hashTags: 1 }],
  [{ hashTags: 1.5 }],
  [{ hashTags: '16' }],
  [null],
])('the options %j are refused', (options) => {
  expect(() => redisStore(singleClient(), options as never)).toThrow(
    expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
  )
})

test('a listener that throws affects no decision', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
  const store = storeOn(connect(await deadPort()))
  store.on('fallback', () => {
    throw new Error('metrics are down')
  })
  const limiter = new RateLimiter({
    name: newName(),
    store,
    policy: slidingLog({ limit: 1, window: '1m' }),
  })
  expect((await limiter.consume('k')).allowed).toBe(true)
  expect(warn).toHaveBeenCalledTimes(1)
  warn.mockRestore()
})

test('the first request after Redis lost an exhausted key passes, and no other', async () => {
  const client = await ready(connect(server.port))
  const store = storeOn(client, { deadlineMs: 10_000, denyCache: false })
  for (const policy of [
    fixedWindow({ name: 'f', limit: 3, window: '5m' }),
    slidingLog({ name: 'l', limit: 3, window: '5m' }),
  ]) {
    const limiter = new RateLimiter({ name: newName(), store, policy })
    await limiter.consume('k', { cost: 3 })
    for (let i = 0; i < 3; i += 1) {
      await aMoment()
      await client.flushall()
      expect((await limiter.consume('k')).allowed).toBe(true)
      expect(await limiter.consume('k')).toMatchObject({
        allowed: false,
        reason: 'limit',
        remaining: 0,
      })
    }
  }
})
