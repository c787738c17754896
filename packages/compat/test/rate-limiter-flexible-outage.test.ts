// What programs with rate-limiter-flexible experience while Redis is frozen, killed and restarted,
// under load.

import {
  fixedWindow,
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
  recommendedRedisOptions,
  redisStore,
} from '@weir/core'
import { judged, type RedisServer, startRedis, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterEach, expect, test } from 'vitest'
import {
  RateLimiterMemory,
  RateLimiterQueue,
  RateLimiterRedis,
  type RateLimiterRes,
} from '../src/rate-limiter-flexible.js'

/** The deadline of the store is 100 ms. */
const LONGEST_MS = 150
const AT_ONCE = 5
/** Longer than the whole test. */
const RULES = { points: 40, duration: 3_600 }

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

interface OnRedis {
  server: RedisServer
  readonly store: RedisStore
}

async function onRedis(): Promise<OnRedis> {
  const started: { server: RedisServer } = { server: await startRedis() }
  open.push(() => started.server.stop())
  const store = await storeOn(started.server)
  return Object.assign(started, { store })
}

async function storeOn({ port }: RedisServer, options: RedisStoreOptions = { instances: 1 }) {
  const client = new Redis(port, recommendedRedisOptions).on('error', () => {})
  open.push(() => client.disconnect())
  await new Promise((resolve) => client.once('ready', resolve))
  const store = redisStore(client, options)
  open.push(() => store.close())
  return store
}

/** Freezes Redis, lets it continue, kills it, and starts it again, empty. */
async function outages(redis: OnRedis, load: (rounds: number) => Promise<void>): Promise<void> {
  const { store } = redis
  redis.server.kill('SIGSTOP')
  await load(20)
  redis.server.kill('SIGCONT')
  await waitUntil('Redis is back', async () => store.health().state !== 'open')
  await load(10)
  await redis.server.stop()
  await load(20)
  redis.server = await startRedis({ port: redis.server.port })
  await waitUntil('Redis is back', async () => store.health().state === 'closed')
  await load(10)
}

/** Whether Redis decides a request. */
async function isAnswered(store: RedisStore): Promise<boolean> {
  const policy = fixedWindow({ limit: 1_000, window: '1h' })
  const probe = new RateLimiter({ name: 'probe', store, policy, shared: true })
  return (await probe.consume('k')).source === 'store'
}

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('no call takes longer, none fails, and the limit holds', () =>
  judged(async () => {
    const redis = await onRedis()
    const storeClient = redis.store
    const limiter = new RateLimiterRedis({ storeClient, ...RULES })
    const blocking = new RateLimiterRedis({
      ...{ storeClient, keyPrefix: 'blocking', ...RULES, blockDuration: 3_600 },
    })
    let longestMs = 0
    let granted = 0
    const errors: unknown[] = []
    async function timed(call: () => Promise<unknown>, granting = false): Promise<void> {
      const beganMs = performance.now()
      try {
        await call()
        if (granting) granted += 1
      } catch (reason) {
        if (reason instanceof Error) errors.push(reason)
      }
      longestMs = Math.max(longestMs, performance.now() - beganMs)
    }
    let round = 0
    async function load(rounds: number): Promise<void> {
      for (let i = 0; i < rounds; i += 1) {
        round += 1
        const key = `k${round}`
        await Promise.all([
          ...Array.from({ length: AT_ONCE }, () => timed(() => limiter.consume('ann'), true)),
          timed(() => limiter.consume(key, 50)),
          timed(() => blocking.consume('bob', 30)),
          timed(() => limiter.get('ann')),
          timed(() => limiter.penalty(key)),
          timed(() => limiter.reward(key)),
          timed(() => blocking.block(key, 60)),
          timed(() => limiter.delete(key)),
        ])
        await later(10)
      }
    }
    await load(5)
    const healthyMs = longestMs
    longestMs = 0
    await outages(redis, load)
    expect(errors).toEqual([])
    expect(longestMs).toBeLessThan(healthyMs + LONGEST_MS)
    // Redis has lost everything, and this process has noticed: what is in flight then may pass.
    expect(granted).toBeGreaterThanOrEqual(RULES.points)
    expect(granted).toBeLessThanOrEqual(RULES.points + AT_ONCE)
  }))

test('a call waits for a Redis that does not answer once', async () => {
  const { server } = await onRedis()
  const deadlineMs = 400
  const store = await storeOn(server, { instances: 1, deadlineMs })
  const limiter = new RateLimiterRedis({ storeClient: store, points: 2, duration: 3_600 })
  for (let i = 0; i < 3; i += 1) await limiter.consume('past').catch(() => {})
  await limiter.consume('full', 2)
  const calls: readonly ((key: string) => Promise<unknown>)[] = [
    (key) => limiter.consume(key),
    (key) => limiter.get(key),
    (key) => limiter.reward(key),
    (key) => limiter.penalty(key),
    (key) => limiter.block(key, 60),
    (key) => limiter.delete(key),
  ]
  for (const key of ['past', 'full', 'new']) {
    for (const call of calls) {
      await judged(async () => {
        server.kill('SIGSTOP')
        const beganMs = performance.now()
        await call(key).catch((reason) => expect(reason).not.toBeInstanceOf(Error))
        const tookMs = performance.now() - beganMs
        server.kill('SIGCONT')
        await waitUntil('Redis answers', async () => (await isAnswered(store)) === true)
        expect(tookMs, `${call} of ${key}`).toBeGreaterThan(0.9 * deadlineMs)
        expect(tookMs, `${call} of ${key}`).toBeLessThan(1.9 * deadlineMs)
      })
    }
  }
})

test('refusals of a process without Redis do not count, and its charges are not reported', async () => {
  const redis = await onRedis()
  const storeClient = await storeOn(redis.server, { instances: { count: 2, rank: 0 } })
  const limiter = new RateLimiterRedis({
    ...{ storeClient, points: 10, duration: 3_600, blockDuration: 3_600 },
  })
  const ask = async (times: number): Promise<number> => {
    const asked = Array.from({ length: times }, () => limiter.consume('k'))
    return (await Promise.allSettled(asked)).filter(({ status }) => status === 'fulfilled').length
  }
  expect(await ask(1)).toBe(1)
  await redis.server.stop()
  expect(await ask(30)).toBe(5)
  expect((await limiter.get('k'))?.consumedPoints).toBe(11)
  expect(await limiter.penalty('new', 2)).toMatchObject({ consumedPoints: 2, remainingPoints: 8 })
  redis.server = await startRedis({ port: redis.server.port })
  await waitUntil('Redis is back', async () => storeClient.health().state === 'closed')
  expect((await limiter.get('k'))?.consumedPoints).toBe(6)
  expect(await ask(6)).toBe(4)
})

test('without Redis, a key past its limit is still refused', async () => {
  const redis = await onRedis()
  const limiter = new RateLimiterRedis({ storeClient: redis.store, points: 2, duration: 3_600 })
  for (let i = 0; i < 3; i += 1) await limiter.consume('past').catch(() => {})
  await limiter.consume('one')
  await redis.server.stop()
  expect((await limiter.get('past'))?.consumedPoints).toBeGreaterThan(2)
  await expect(limiter.consume('past')).rejects.toMatchObject({ remainingPoints: 0 })
  expect(await limiter.get('one')).toMatchObject({ consumedPoints: 1, remainingPoints: 1 })
  expect(await limiter.penalty('new', 2)).toMatchObject({ consumedPoints: 2 })
  expect(await limiter.delete('one')).toBe(false)
})

test('two processes without Redis grant what they have seen to be left of the limit', async () => {
  const { server } = await onRedis()
  const limiters: RateLimiterRedis[] = []
  for (const rank of [0, 1]) {
    const storeClient = await storeOn(server, { instances: { count: 2, rank } })
    limiters.push(new RateLimiterRedis({ storeClient, ...RULES }))
  }
  let granted = 0
  const ask = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i += 1)
      await limiters[i % 2]?.consume('k').then(
        () => {
          granted += 1
        },
        (reason) => expect(reason).toMatchObject({ remainingPoints: 0 }),
      )
  }
  await ask(10)
  expect(granted).toBe(10)
  await server.stop()
  await ask(200)
  expect(granted).toBeGreaterThanOrEqual(RULES.points)
  // The process that was asked first has not seen the last point, and divides it again.
  expect(granted).toBeLessThanOrEqual(RULES.points + 1)
})

test('a block that is set in an outage applies in this process', async () => {
  const redis = await onRedis()
  const limiter = new RateLimiterRedis({ storeClient: redis.store, points: 2, duration: 3_600 })
  await limiter.consume('k')
  await redis.server.stop()
  expect(await limiter.block('k', 60)).toMatchObject({ consumedPoints: 3, msBeforeNext: 60_000 })
  await expect(limiter.consume('k')).rejects.toMatchObject({ consumedPoints: 3 })
})

test('an insurance decides only while Redis is away', async () => {
  const redis = await onRedis()
  const insuranceLimiter = new RateLimiterMemory({ points: 1, duration: 3_600 })
  const rules = { ...RULES, blockDuration: 600, insuranceLimiter }
  const limiter = new RateLimiterRedis({ storeClient: redis.store, ...rules })
  expect(insuranceLimiter.blockDuration).toBe(600)
  for (let i = 0; i < 3; i += 1) await limiter.consume('k')
  expect(await insuranceLimiter.get('k')).toBeNull()
  await redis.server.stop()
  expect(await limiter.consume('k')).toMatchObject({ consumedPoints: 1, remainingPoints: 0 })
  await expect(limiter.consume('k')).rejects.toMatchObject({ consumedPoints: 2 })
  expect((await limiter.get('k')) as RateLimiterRes).toMatchObject({ consumedPoints: 2 })
  expect(await limiter.delete('k')).toBe(true)
  expect(await limiter.penalty('k', 2)).toMatchObject({ consumedPoints: 2 })
  expect(await limiter.reward('k')).toMatchObject({ consumedPoints: 1 })
  expect(await limiter.set('k', 1, RULES.duration)).toMatchObject({ consumedPoints: 1 })
  expect(await limiter.block('k', 60)).toMatchObject({ consumedPoints: 2 })
  redis.server = await startRedis({ port: redis.server.port })
  await waitUntil('Redis is back', async () => redis.store.health().state !== 'open')
  expect(await limiter.consume('new')).toMatchObject({ remainingPoints: RULES.points - 1 })
})

test('a store that throws makes calls reject with its error', async () => {
  const redis = await onRedis()
  const storeClient = await storeOn(redis.server, { instances: 1, whenUnavailable: 'throw' })
  const limiter = new RateLimiterRedis({ storeClient, ...RULES })
  await limiter.consume('k')
  await redis.server.stop()
  await expect(limiter.consume('k')).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
  const queue = new RateLimiterQueue(limiter)
  await expect(queue.removeTokens(1)).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
  expect(await queue.getTokensRemaining()).toBe(RULES.points)
})
