// The documented programs of rate-limiter-flexible, with and without the changed import: their
// callers see the same. rate-limiter-flexible-walk.test.ts has each method of a limiter.

import { recommendedRedisOptions } from '@weir/core'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  clientOf,
  KINDS,
  LIBRARIES,
  type Library,
  type Limiter,
  type Make,
  makerOf,
  outcomeOf,
  outcomesOf,
} from './flexible.js'
import { newName, onRedis } from './on-redis.js'

const redis = onRedis()
const application = clientOf(redis)

/** The return values are compared. */
type Program = (make: Make, library: Library) => Promise<unknown>

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The login in its documents: it looks first, and counts failures. */
function logIns(byIp: Limiter, byName: Limiter) {
  return async (name: string, ip: string, isRight: boolean): Promise<string> => {
    const key = `${name}_${ip}`
    const [ofName, ofIp] = await Promise.all([byName.get(key), byIp.get(ip)])
    if (ofIp !== null && ofIp.consumedPoints > byIp.points) return 'blocked ip'
    if (ofName !== null && ofName.consumedPoints > byName.points) return 'blocked name'
    if (isRight) {
      if (ofName !== null && ofName.consumedPoints > 0) await byName.delete(key)
      return 'logged in'
    }
    try {
      await Promise.all([byIp.consume(ip), byName.consume(key)])
      return 'wrong'
    } catch (refused) {
      if (refused instanceof Error) throw refused
      return 'refused'
    }
  }
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  async 'consume points, and what it costs at once'(make) {
    const limiter = make({ points: 6, duration: 60 })
    return outcomesOf(5, () => limiter.consume('ip', 2))
  },

  async 'more points than there ever are'(make) {
    const limiter = make({ points: 6, duration: 60 })
    return [
      await outcomeOf(limiter.consume('ip', 7)),
      await outcomeOf(limiter.consume('ip')),
      await outcomeOf(limiter.get('ip')),
    ]
  },

  async 'blockDuration, shorter than the window'(make) {
    const limiter = make({ points: 1, duration: 600, blockDuration: 1 })
    const before = await outcomesOf(2, () => limiter.consume('k'))
    await later(1_100)
    return [before, await outcomesOf(1, () => limiter.consume('k'))]
  },

  async 'a window that is over'(make) {
    const limiter = make({ points: 1, duration: 1 })
    const before = (await outcomesOf(3, () => limiter.consume('k'))).length
    await later(1_100)
    return [before, await outcomeOf(limiter.get('k')), await outcomeOf(limiter.consume('k'))]
  },

  async 'options that change'(make) {
    const limiter = make({ points: 1, duration: 60 })
    const before = await outcomesOf(2, () => limiter.consume('k'))
    limiter.points = 4
    return [before, await outcomesOf(3, () => limiter.consume('k')), limiter.msDuration]
  },

  async 'log-ins, by name and by address'(make) {
    const byIp = make({ keyPrefix: '#ip', points: 5, duration: 86_400, blockDuration: 86_400 })
    const byName = make({
      keyPrefix: '#name',
      points: 2,
      duration: 864_000,
      blockDuration: 3_600,
    })
    const logIn = logIns(byIp, byName)
    const seen: string[] = []
    for (const isRight of [false, true, false, false, false, true])
      seen.push(await logIn('ann', 'a', isRight))
    for (let i = 0; i < 5; i += 1) seen.push(await logIn(`u${i}`, 'a', false))
    return [...seen, await logIn('bob', 'a', true), await logIn('bob', 'b', true)]
  },

  async 'log-ins without blockDuration'(make) {
    const limiters = ['#ip', '#name'].map((keyPrefix) =>
      make({ keyPrefix, points: 2, duration: 60 }),
    )
    const logIn = logIns(...(limiters as [Limiter, Limiter]))
    const seen: string[] = []
    for (const isRight of [false, false, true, false, false, false, true])
      seen.push(await logIn('ann', 'a', isRight))
    return seen
  },

  async 'blocks that last longer each time'(make) {
    const limiter = make({ keyPrefix: '#login', points: 1, duration: 60 })
    const beyond = make({ keyPrefix: '#beyond', points: 99_999, duration: 86_400 })
    const seen: unknown[] = []
    for (let i = 0; i < 3; i += 1) {
      await limiter.consume('k')
      const refused = await limiter.consume('k').catch((reason) => reason)
      const { consumedPoints } = await beyond.penalty('k')
      await limiter.block('k', 60 * consumedPoints)
      seen.push(refused.consumedPoints, await outcomeOf(limiter.get('k')))
      await limiter.delete('k')
    }
    return seen
  },

  async 'several limiters as one'(make, { RateLimiterUnion }) {
    const union = new RateLimiterUnion(
      make({ keyPrefix: '#1', points: 1, duration: 60 }),
      make({ keyPrefix: '#2', points: 2, duration: 600 }),
    )
    return outcomesOf(4, () => union.consume('k'))
  },

  async bursts(make, { BurstyRateLimiter }) {
    const bursty = new BurstyRateLimiter(
      make({ keyPrefix: '#rate', points: 2, duration: 60 }),
      make({ keyPrefix: '#burst', points: 3, duration: 600 }),
    )
    return outcomesOf(7, () => bursty.consume('k'))
  },

  async 'bursts that come back sooner'(make, { BurstyRateLimiter }) {
    const bursty = new BurstyRateLimiter(
      make({ keyPrefix: '#rate', points: 1, duration: 600 }),
      make({ keyPrefix: '#burst', points: 1, duration: 60 }),
    )
    const both = bursty as unknown as Pick<Limiter, 'get'>
    return [await outcomesOf(3, () => bursty.consume('k')), await outcomeOf(both.get('k'))]
  },

  async 'black and white lists'(make, { RLWrapperBlackAndWhite }) {
    const limiter = make({ points: 1, duration: 60 })
    const listed = new RLWrapperBlackAndWhite({
      limiter,
      whiteList: ['127.0.0.1'],
      blackList: ['13.35.67.49', '127.0.0.1'],
      isWhiteListed: (ip) => /^36.+$/.test(ip),
      isBlackListed: (ip) => /^47.+$/.test(ip),
    })
    const seen: unknown[] = []
    for (const ip of ['127.0.0.1', '13.35.67.49', '36.1.1.1', '47.1.1.1', '1.1.1.1']) {
      seen.push(await outcomesOf(2, () => listed.consume(ip)))
      seen.push(await outcomeOf(listed.get(ip)), await outcomeOf(listed.penalty(ip)))
      seen.push(await outcomeOf(limiter.get(ip)))
    }
    return seen
  },

  async 'black and white lists that are asked all the same'(make, { RLWrapperBlackAndWhite }) {
    const limiter = make({ points: 1, duration: 60 })
    const listed = new RLWrapperBlackAndWhite({ limiter, blackList: ['k'], runActionAnyway: true })
    const seen = await outcomesOf(2, () => listed.consume('k'))
    await expect.poll(async () => (await limiter.get('k'))?.consumedPoints).toBe(2)
    return [seen, await outcomeOf(listed.get('k'))]
  },

  async 'a queue'(make, { RateLimiterQueue, RateLimiterQueueError }) {
    const queue = new RateLimiterQueue(make({ points: 2, duration: 1 }), { maxQueueSize: 2 })
    const order: number[] = []
    const asked = Array.from({ length: 5 }, (_, i) =>
      queue.removeTokens(1).then(
        () => void order.push(i),
        (error) => error instanceof RateLimiterQueueError,
      ),
    )
    const ends = await Promise.all(asked)
    const tooMany = await queue.removeTokens(3).catch((error) => error)
    return [ends, order, tooMany instanceof RateLimiterQueueError]
  },

  async 'a queue with keys, what remains, and what takes too long'(make, library) {
    const { RateLimiterQueue, RateLimiterQueueError } = library
    const queue = new RateLimiterQueue(make({ points: 2, duration: 2 }))
    const seen = [
      await queue.getTokensRemaining('a'),
      await queue.removeTokens(2, 'a'),
      await queue.removeTokens(1, 'b'),
      await queue.getTokensRemaining('b'),
    ]
    const late = await queue
      .removeTokens(1, 'a', Math.floor(Date.now() / 1_000))
      .catch((error) => error)
    return [...seen, late instanceof RateLimiterQueueError]
  },

  async 'an even pace'(make) {
    const limiter = make({ points: 2, duration: 4, execEvenly: true, execEvenlyMinDelayMs: 100 })
    const began = performance.now()
    await limiter.consume('k')
    const { msBeforeNext } = await limiter.consume('k')
    const tookMs = performance.now() - began
    const refused = await outcomeOf(limiter.consume('k'))
    // The rest of four seconds, divided by the remaining points and two more.
    return [tookMs > 1_900, msBeforeNext < 2_100, refused]
  },

  async 'the least delay of an even pace'(make) {
    const limiter = make({
      points: 9,
      duration: 60,
      execEvenly: true,
      execEvenlyMinDelayMs: 20_000,
    })
    const fast = make({ points: 9, duration: 1, execEvenly: true, execEvenlyMinDelayMs: 200 })
    await fast.consume('k')
    const began = performance.now()
    await fast.consume('k')
    return [limiter.execEvenlyMinDelayMs, performance.now() - began > 390]
  },

  async 'keys and their prefix'(make) {
    const limiter = make({ points: 9, duration: 60 })
    limiter.keyPrefix = 'p'
    const { execEvenlyMinDelayMs, blockDuration, msBlockDuration, execEvenly } = limiter
    return [
      ...[limiter.getKey('k'), limiter.getKey(7), limiter.parseKey('p:k')],
      ...[execEvenlyMinDelayMs, blockDuration, msBlockDuration, execEvenly],
    ]
  },
}

// Programs wait for windows to end, and none shares a key with another.
test.concurrent.each(
  KINDS.flatMap((kind) => Object.keys(PROGRAMS).map((program) => [program, kind] as const)),
)('%s, in %s', async (title, kind) => {
  const program = PROGRAMS[title] as Program
  const [there, here] = await Promise.all(
    [LIBRARIES.there, LIBRARIES.here].map((library) =>
      program(makerOf(library, kind, application.client), library),
    ),
  )
  expect(here).toEqual(there)
})

/** Its options for stores. */
const STORED: Readonly<Record<string, Program>> = {
  async blockOnConsumed(make) {
    const limiter = make({ points: 1, duration: 60, blockDuration: 600, blockOnConsumed: 3 })
    return [await outcomesOf(3, () => limiter.consume('k')), await outcomeOf(limiter.get('k'))]
  },

  async inMemoryBlockOnConsumed(make) {
    const limiter = make({ points: 2, duration: 60, inMemoryBlockOnConsumed: 3 })
    const before = await outcomesOf(5, () => limiter.consume('k'))
    const got = await outcomeOf(limiter.get('k'))
    await limiter.delete('k')
    return [before, got, await outcomeOf(limiter.consume('k'))]
  },

  async 'inMemoryBlockOnConsumed of the points'(make) {
    const limiter = make({ points: 2, duration: 60, inMemoryBlockOnConsumed: 2 })
    return [await outcomesOf(4, () => limiter.consume('k')), await outcomeOf(limiter.get('k'))]
  },

  async inMemoryBlockDuration(make) {
    const rules = { inMemoryBlockOnConsumed: 2, inMemoryBlockDuration: 600 }
    const limiter = make({ points: 1, duration: 60, ...rules })
    return outcomesOf(3, () => limiter.consume('k'))
  },
}

test.each(Object.keys(STORED))('%s, in redis', async (title) => {
  const program = STORED[title] as Program
  const [there, here] = await Promise.all(
    [LIBRARIES.there, LIBRARIES.here].map((library) =>
      program(makerOf(library, 'redis', application.client), library),
    ),
  )
  expect(here).toEqual(there)
})

test('the first refused request costs two calls, later ones at most one a second', async () => {
  const { RateLimiterRedis } = LIBRARIES.here
  const calls = () => redis.store.stats?.().nodes[0]?.calls.ok ?? Number.NaN
  const costs = async (limiter: Limiter, key: string): Promise<number[]> => {
    const each: number[] = []
    for (let i = 0; i < 5; i += 1) {
      const before = calls()
      await limiter.consume(key).catch(() => {})
      each.push(calls() - before)
    }
    return each
  }
  const make = (options: object) =>
    new RateLimiterRedis({
      ...{ storeClient: redis.store, keyPrefix: newName(), points: 2, duration: 60 },
      ...options,
    })
  const [first, second, third, ...later] = await costs(make({}), 'k')
  expect([first, second, third]).toEqual([1, 1, 2])
  expect(Math.max(...later)).toBeLessThanOrEqual(1)
  expect(await costs(make({ inMemoryBlockOnConsumed: 3 }), 'k')).toEqual([1, 1, 2, 0, 0])
  // The block, and the deleted window, in addition to the cost of the first refusal.
  const [, , blocking, ...blocked] = await costs(make({ blockDuration: 60 }), 'k')
  expect(blocking).toBe(4)
  expect(Math.max(...blocked)).toBeLessThanOrEqual(1)
})

test('limiters with one prefix count together, whatever client or store they have', async () => {
  const { RateLimiterRedis } = LIBRARIES.here
  const { client } = application
  const rules = { keyPrefix: 'a prefix: of {any} form', points: 3, duration: 60 }
  const limiters = [client, client, redis.store].map(
    (storeClient) => new RateLimiterRedis({ ...rules, storeClient }),
  )
  const consumed: number[] = []
  for (const limiter of limiters) consumed.push((await limiter.consume('k')).consumedPoints)
  expect(consumed).toEqual([1, 2, 3])
  const other = new RateLimiterRedis({ ...rules, storeClient: client, keyPrefix: 'a prefix' })
  expect((await other.consume('k')).consumedPoints).toBe(1)
})

test('limiters on one client are one process among those that share the limits', async () => {
  const storeClient = new Redis(redis.server.port, recommendedRedisOptions)
  onTestFinished(() => storeClient.disconnect())
  await new Promise((resolve) => storeClient.once('ready', resolve))
  const processes = () => storeClient.zcard('weir:{instances}')
  const before = await processes()
  for (const keyPrefix of [newName(), newName()])
    await new LIBRARIES.here.RateLimiterRedis({
      ...{ storeClient, keyPrefix, points: 1, duration: 60 },
    }).consume('k')
  await expect.poll(processes).toBeGreaterThan(before)
  expect(await processes()).toBe(before + 1)
})

test('what another process gives back, deletes or blocks shows in the next request', async () => {
  const { RateLimiterRedis } = LIBRARIES.here
  const rules = { keyPrefix: newName(), points: 1, duration: 60 }
  const [one, other] = [application.client, redis.store].map(
    (storeClient) => new RateLimiterRedis({ ...rules, storeClient }),
  ) as Limiter[] as [Limiter, Limiter]
  const refuse = () => expect(one.consume('k')).rejects.toMatchObject({ remainingPoints: 0 })
  await one.consume('k')
  await refuse()
  await other.delete('k')
  expect(await one.consume('k')).toMatchObject({ consumedPoints: 1 })
  await refuse()
  await other.reward('k', 2)
  expect(await one.consume('k')).toMatchObject({ consumedPoints: 1 })
  await refuse()
  await other.block('k', 600)
  await expect(one.consume('k')).rejects.toMatchObject({ consumedPoints: 2 })
  expect((await other.get('k'))?.msBeforeNext).toBeGreaterThan(500_000)
})

test('a block leaves nothing in Redis afterwards', async () => {
  const { RateLimiterRedis } = LIBRARIES.here
  const keyPrefix = newName()
  const storeClient = redis.store
  const limiter = new RateLimiterRedis({ storeClient, keyPrefix, points: 1, duration: 60 })
  await limiter.block('k', 600)
  const { client } = application
  const keys = await client.keys(`*${keyPrefix}*lockout*`)
  const left = await Promise.all(keys.map((key) => client.pttl(key)))
  expect(left).toHaveLength(1)
  expect(left[0]).toBeGreaterThan(500_000)
  expect(left[0]).toBeLessThan(700_000)
})

test('of many requests at once, in two processes, exactly the limit is granted, and both know', async () => {
  for (const library of [LIBRARIES.there, LIBRARIES.here]) {
    const rules = { keyPrefix: newName(), points: 10, duration: 60 }
    const clients = library === LIBRARIES.here ? [redis.store] : [new Redis(redis.server.port)]
    onTestFinished(() => void (clients[0] as Partial<Redis>).disconnect?.())
    const limiters = [application.client, ...clients].map(
      (storeClient) => new library.RateLimiterRedis({ ...rules, storeClient }),
    )
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, i) => limiters[i % 2]?.consume('k')),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
    for (const limiter of limiters) {
      const left = await limiter.get('k')
      expect(left?.remainingPoints).toBe(0)
      // Here each process counts its refusals, and hears of the first of the others.
      const all = library === LIBRARIES.here ? 51 : 100
      expect(left?.consumedPoints).toBeGreaterThanOrEqual(all)
    }
  }
})

test('accepts the clients of its documents', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const ofIoredis = new Redis({ port: redis.server.port, enableOfflineQueue: false })
  onTestFinished(() => ofIoredis.disconnect())
  await new Promise((resolve) => ofIoredis.once('ready', resolve))
  const ofNodeRedis = createClient({ url: `redis://127.0.0.1:${redis.server.port}` })
  await ofNodeRedis.connect()
  onTestFinished(() => ofNodeRedis.destroy())
  const rules = { keyPrefix: newName(), points: 5, duration: 5 }
  const consumed: number[] = []
  for (const more of [
    { storeClient: ofIoredis },
    { storeClient: ofNodeRedis, useRedisPackage: true, rejectIfRedisNotReady: true },
  ]) {
    const limiter = new LIBRARIES.here.RateLimiterRedis({ ...rules, ...more })
    consumed.push((await limiter.consume('k')).consumedPoints)
  }
  expect(consumed).toEqual([1, 2])
  const codes = warned.mock.calls.map(([, options]) => (options as { code?: string }).code)
  expect(codes).toContain('WEIR_UNSAFE_REDIS_OPTION')
})
