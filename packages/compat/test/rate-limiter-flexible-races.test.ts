// Races: requests that are in progress while a key starts again, or is blocked or given back by
// others.

import { recommendedRedisOptions, redisStore } from '@weir/core'
import { waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterUnion,
  RLWrapperBlackAndWhite,
} from '../src/rate-limiter-flexible.js'
import { newName, onRedis } from './on-redis.js'

const redis = onRedis()

interface Process {
  readonly limiter: RateLimiterRedis
  /** Holds back calls after this many more. */
  holdAfter(calls: number): void
  /** Resolves when a call is held. */
  holding(): Promise<void>
  letGo(): void
}

/** Limiters with one prefix, each with its own client and store. */
async function processes(count: number, options: object): Promise<Process[]> {
  const keyPrefix = newName()
  const made = Array.from({ length: count }, async (_, rank): Promise<Process> => {
    const client = new Redis(redis.server.port, recommendedRedisOptions)
    onTestFinished(() => client.disconnect())
    await new Promise((resolve) => client.once('ready', resolve))
    let held: Promise<void> | undefined
    let free = 0
    let letGo = (): void => {}
    let waiting = 0
    const slowed = {
      callBuffer: async (command: string, args: string[]) => {
        if (free > 0) free -= 1
        else {
          waiting += 1
          await held
          waiting -= 1
        }
        return client.callBuffer(command, args)
      },
    }
    const instances = { count, rank }
    const storeClient = redisStore(slowed, { instances, deadlineMs: 5_000 })
    onTestFinished(() => storeClient.close())
    return {
      limiter: new RateLimiterRedis({
        storeClient,
        keyPrefix,
        points: 10,
        duration: 60,
        ...options,
      }),
      holdAfter(calls) {
        free = calls
        held = new Promise((resolve) => {
          letGo = resolve
        })
      },
      holding: () => waitUntil('a call is held', async () => waiting > 0),
      letGo() {
        held = undefined
        letGo()
      },
    }
  })
  return Promise.all(made)
}

async function passedOf(
  limiter: RateLimiterMemory | RateLimiterRedis,
  asked: number,
): Promise<number> {
  const all = Array.from({ length: asked }, () => limiter.consume('k'))
  const settled = await Promise.allSettled(all)
  for (const each of settled) {
    if (each.status === 'rejected') expect(each.reason).not.toBeInstanceOf(Error)
  }
  return settled.filter(({ status }) => status === 'fulfilled').length
}

test('requests that are refused at the end of a window do not use up the next one', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const limiter = new RateLimiterMemory({ points: 5, duration: 1 })
  for (let window = 0; window < 20; window += 1) {
    let passed = 0
    for (let turn = 0; turn < 10; turn += 1) {
      passed += await passedOf(limiter, 20)
      await vi.advanceTimersByTimeAsync(100)
    }
    expect(passed).toBe(5)
  }
})

test('after another process has deleted a key, all of its points are available', async () => {
  const [one, other] = (await processes(2, {})) as [Process, Process]
  expect(await passedOf(one.limiter, 50)).toBe(10)
  await other.limiter.delete('k')
  // A refusal may be repeated for this long.
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  expect(await passedOf(one.limiter, 50)).toBe(10)
})

test('units that are given back, or added to the limit, pass again', async () => {
  const limiter = new RateLimiterMemory({ points: 10, duration: 60 })
  expect(await passedOf(limiter, 20)).toBe(10)
  await limiter.reward('k', 15)
  expect((await limiter.get('k'))?.consumedPoints).toBe(5)
  expect(await passedOf(limiter, 30)).toBe(5)
  await limiter.delete('k')
  expect(await passedOf(limiter, 12)).toBe(10)
  limiter.points = 20
  // One of the refused requests is charged.
  expect(await passedOf(limiter, 30)).toBe(9)
})

test('a request that is refused stays refused when the key is blocked in the meantime', async () => {
  const [one, other] = (await processes(2, { points: 3 })) as [Process, Process]
  // From here on, the scripts are loaded.
  await one.limiter.penalty('else')
  await expect(one.limiter.consume('else', 3)).rejects.toMatchObject({ consumedPoints: 4 })
  await other.limiter.consume('k', 3)
  one.holdAfter(1)
  const refused = one.limiter.consume('k').then(
    () => 'passed',
    ({ consumedPoints }) => consumedPoints > 3,
  )
  await one.holding()
  await other.limiter.block('k', 30)
  one.letGo()
  expect(await refused).toBe(true)
})

test('of four processes that ask at once, no more than the limit pass, even if each may block', async () => {
  for (const options of [
    {},
    { blockDuration: 1 },
    { blockDuration: 1, blockOnConsumed: 20 },
    { blockDuration: 100, duration: 2 },
  ]) {
    const fleet = await processes(4, options)
    const passed = await Promise.all(fleet.map(({ limiter }) => passedOf(limiter, 50)))
    expect(passed.reduce((sum, each) => sum + each, 0)).toBe(10)
  }
})

test('an insurance that is set later is used', async () => {
  const client = new Redis(1, { ...recommendedRedisOptions, lazyConnect: true })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  const limiter = new RateLimiterRedis({ storeClient: client, points: 100, duration: 60 })
  limiter.insuranceLimiter = new RateLimiterMemory({ points: 1, duration: 60 })
  await limiter.consume('k')
  await expect(limiter.consume('k')).rejects.toMatchObject({ consumedPoints: 2 })
})

test('a union refuses whatever its prefixes are, and lists may be null', async () => {
  const union = new RateLimiterUnion(
    new RateLimiterMemory({ keyPrefix: '__proto__', points: 1, duration: 60 }),
  )
  await union.consume('k')
  await expect(union.consume('k')).rejects.toBeDefined()
  const limiter = new RateLimiterMemory({ points: 1, duration: 60 })
  const lists = { limiter, blackList: null, whiteList: null } as never
  expect((await new RLWrapperBlackAndWhite(lists).consume('k')).consumedPoints).toBe(1)
})
