// What rate-limiter-flexible's classes cannot do here is reported where it is requested.

import { memoryStore, recommendedRedisOptions } from '@weir/core'
import { Redis } from 'ioredis'
import * as real from 'rate-limiter-flexible'
import { expect, test } from 'vitest'
import * as flexible from '../src/rate-limiter-flexible.js'

const { BurstyRateLimiter, RateLimiterMemory, RateLimiterQueue } = flexible
const { RateLimiterRedis, RateLimiterUnion, RLWrapperBlackAndWhite } = flexible

const RULES = { points: 5, duration: 60 }
const storeClient = memoryStore()
const memory = (options?: unknown) => () => new RateLimiterMemory(options as never)
const onRedis = (options?: object) => () =>
  new RateLimiterRedis({ storeClient, ...RULES, ...options } as never)
const coded = (text: RegExp) =>
  expect.objectContaining({
    code: 'WEIR_INVALID_OPTION',
    message: expect.stringMatching(text),
  })

test.each<[string, () => unknown, RegExp]>([
  ['no options', memory(), /points is "undefined"; give a whole number from 0/],
  ['options that are none', memory('5'), /points is "undefined"/],
  ['no duration', memory({ points: 5 }), /duration is "undefined"; give seconds/],
  ['a duration without end', memory({ points: 5, duration: 0 }), /for ever; give seconds/],
  ['too long a duration', memory({ points: 5, duration: 4e8 }), /\(ten years\)/],
  ['too short a duration', memory({ points: 5, duration: 1e-4 }), /duration is "0.0001"/],
  ['a duration that is a text', memory({ points: 5, duration: '60' }), /duration is "60"/],
  ['points below 0', memory({ ...RULES, points: -1 }), /points is "-1"/],
  ['a part of a point', memory({ ...RULES, points: 1.5 }), /points is "1.5"/],
  ['points that are a text', memory({ ...RULES, points: '5' }), /points is "5"/],
  ['points without end', memory({ ...RULES, points: Infinity }), /points is "Infinity"/],
  ['a prefix that is no text', memory({ ...RULES, keyPrefix: 7 }), /keyPrefix is "7"; give a text/],
  ['a block below 0', memory({ ...RULES, blockDuration: -1 }), /blockDuration is "-1"/],
  ['no client', onRedis({ storeClient: undefined }), /storeClient is not set/],
  ['an address', onRedis({ storeClient: 'redis://localhost' }), /give a client of ioredis/],
  ['no object', onRedis({ storeClient: null }), /give a client of ioredis/],
  ['a client of MongoDB', onRedis({ storeClient: { db() {} } }), /give a client of ioredis/],
  ['a pool of PostgreSQL', onRedis({ storeClient: { query() {} } }), /give a client of ioredis/],
  ['an old node-redis', onRedis({ useRedis3AndLowerPackage: true }), /node-redis 5 or 6/],
  ['a script', onRedis({ customIncrTtlLuaScript: 'return 1' }), /Weir's script decides/],
  ['blocked within the limit', onRedis({ blockOnConsumed: 4 }), /blockOnConsumed is "4".* from 5/],
  ['silent within the limit', onRedis({ inMemoryBlockOnConsumed: 4 }), /is "4".* from 5/],
  ['silent from where', onRedis({ inMemoryBlockDuration: 4 }), /give inMemoryBlockOnConsumed/],
  ['an insurance that is none', onRedis({ insuranceLimiter: {} }), /insuranceLimiter is .*object/],
  ['a union of none', () => new RateLimiterUnion(), /has no limiter/],
  ['a union of others', () => new RateLimiterUnion({} as never), /a limiter of a union/],
  ['a queue of none', () => new RateLimiterQueue(undefined as never), /a limiter of a queue/],
  ['a wrapper of none', () => new RLWrapperBlackAndWhite({} as never), /limiter is "undefined"/],
  ['a wrapper of nothing', () => new RLWrapperBlackAndWhite(undefined as never), /limiter is/],
  [
    'a list that is a text',
    () =>
      new RLWrapperBlackAndWhite({
        limiter: new RateLimiterMemory(RULES),
        isWhiteListed: '127.0.0.1' as never,
      }),
    /isWhiteListed is "127.0.0.1"; give a function/,
  ],
  ['a dump', () => new RateLimiterMemory(RULES).dump(), /dump\(\) .* give a RateLimiterRedis/],
  ['what was dumped', () => new RateLimiterMemory(RULES).restore({}), /restore\(\) /],
])('%s is a synchronous error', (_, make, text) => {
  expect(make).toThrow(coded(text))
})

const HERE = [
  ...['BurstyRateLimiter', 'RLWrapperBlackAndWhite', 'RateLimiterCompatibleAbstract'],
  ...['RateLimiterMemory', 'RateLimiterQueue', 'RateLimiterQueueError', 'RateLimiterRedis'],
  ...['RateLimiterRes', 'RateLimiterUnion'],
]

test('each class of rate-limiter-flexible exists here, or reports that it does not', () => {
  const classes = flexible as unknown as Record<string, new (options: object) => unknown>
  const names = Object.keys(real).filter((name) => /^(B|R)/.test(name))
  const others = names.filter((name) => !HERE.includes(name) && !name.endsWith('FailedError'))
  expect(names).toEqual(expect.arrayContaining(HERE))
  for (const name of HERE) expect(classes[name], name).toBeTypeOf('function')
  for (const name of others) {
    const make = () => new (classes[name] as (typeof classes)[string])({ storeClient, ...RULES })
    expect(make, name).toThrow(coded(new RegExp(`^${name} is not supported here; `)))
  }
})

test.each<[string, (limiter: flexible.RateLimiterMemory) => Promise<unknown>, RegExp]>([
  ['a part of a point', (limiter) => limiter.consume('k', 0.5), /points of consume\(\) is "0.5"/],
  ['points below 0', (limiter) => limiter.consume('k', -1), /is "-1"/],
  ['points that are a text', (limiter) => limiter.penalty('k', 'one' as never), /of penalty\(\)/],
  ['a reward below 0', (limiter) => limiter.reward('k', -1), /of reward\(\)/],
  ['another duration', (limiter) => limiter.consume('k', 1, { customDuration: 5 }), /is "5"/],
  ['to set another duration', (limiter) => limiter.set('k', 1, 5), /give 60, or .* block\(\)/],
  ['to set no duration', (limiter) => limiter.set('k', 1, 0), /secDuration of set\(\) is "0"/],
  ['a block without end', (limiter) => limiter.block('k', 0), /for ever; give seconds/],
])('%s is a rejection, and takes nothing', async (_, call, text) => {
  const limiter = new RateLimiterMemory(RULES)
  await expect(call(limiter)).rejects.toThrow(coded(text))
  expect(await limiter.get('k')).toBeNull()
})

test('changed options are checked when they change', () => {
  const limiter = new RateLimiterMemory(RULES)
  const change = (name: 'points' | 'duration' | 'blockDuration', value: unknown) => () => {
    limiter[name] = value as never
  }
  expect(change('points', -1)).toThrow(coded(/points is "-1"/))
  expect(change('duration', 0)).toThrow(coded(/duration is "0"/))
  expect(change('blockDuration', 'x')).toThrow(coded(/blockDuration is "x"/))
  expect(limiter).toMatchObject({ points: 5, duration: 60, blockDuration: 0 })
})

test('options that libraries pass on, and that mean nothing here, are accepted', async () => {
  const options = { ...RULES, type: 'Memory', tableName: 't', customDuration: undefined }
  const limiter = new RateLimiterMemory(options)
  const res = await limiter.consume('k', 1, { customDuration: 60 })
  expect(JSON.parse(String(res))).toEqual(res.toJSON())
  expect(await limiter.consume(undefined as never)).toMatchObject({ consumedPoints: 1 })
  expect(await limiter.consume('')).toMatchObject({ consumedPoints: 2 })
  expect(await limiter.consume('x'.repeat(100_000))).toMatchObject({ consumedPoints: 1 })
})

test("users' limiters may wrap and insure", async () => {
  class Halved extends flexible.RateLimiterCompatibleAbstract {
    keyPrefix = 'halved'
    blockDuration = 0
    execEvenly = false
    readonly #limiter = new RateLimiterMemory(RULES)
    consume = (key: string | number) => this.#limiter.consume(key, 2)
    penalty = (key: string | number) => this.#limiter.penalty(key, 2)
    reward = (key: string | number) => this.#limiter.reward(key, 2)
    get = (key: string | number) => this.#limiter.get(key)
    set = (key: string | number) => this.#limiter.set(key, 2, RULES.duration)
    block = (key: string | number) => this.#limiter.block(key, 2)
    delete = (key: string | number) => this.#limiter.delete(key)
  }
  const union = new RateLimiterUnion(new Halved(), new RateLimiterMemory(RULES))
  expect(await union.consume('k')).toMatchObject({ halved: { consumedPoints: 2 } })
  const bursty = new BurstyRateLimiter(new Halved(), new RateLimiterMemory(RULES))
  expect(bursty.points).toBe(0)
  expect(await bursty.get('k')).toBeNull()
  expect(onRedis({ insuranceLimiter: new Halved(), blockDuration: 7 })()).toMatchObject({
    insuranceLimiter: { blockDuration: 7 },
  })
})

test('a client that has quit ends only its own calls', async () => {
  const client = new Redis({ ...recommendedRedisOptions, lazyConnect: true }).on('error', () => {})
  const limiter = new RateLimiterRedis({ storeClient: client, ...RULES })
  client.disconnect()
  expect(await limiter.consume('k')).toMatchObject({ remainingPoints: 4 })
})
