// Invalid input, row by row: mistakes of users, and attacks. Both stores give the same answer,
// before anything is sent to Redis.

import { createHash } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  RateLimiter,
  type Store,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
import { type FakeRequest, limitOn } from '../http/exchange.js'
import { singleClient, strictStore } from './clients.js'

const client = singleClient()
let runs = 0
function newName(): string {
  runs += 1
  return `bad${process.pid}-${runs}`
}

const WINDOWS = { fixedWindow, slidingWindow, slidingLog, slidingCounter }
const factories = Object.entries(WINDOWS)
const bucketOf = (capacity: number, every: number | string) =>
  tokenBucket({ capacity, refill: 1, every: every as '1s' })

describe.each(factories)('%s', (_, make) => {
  test.each([
    ['limit NaN', Number.NaN],
    ['limit Infinity', Number.POSITIVE_INFINITY],
    ['limit -1', -1],
    ['limit 1.5', 1.5],
    ['limit beyond 2^53', 2 ** 53 + 2],
    ['limit "10"', '10'],
    ['limit null', null],
  ])('%s throws at construction', (__, limit) => {
    const refused = expect.objectContaining({ code: 'WEIR_INVALID_POLICY' })
    expect(() => make({ limit: limit as number, window: '1s' })).toThrow(refused)
    expect(() => bucketOf(limit as number, '1s')).toThrow(refused)
  })

  test.each([
    ['window NaN', Number.NaN],
    ['window Infinity', Number.POSITIVE_INFINITY],
    ['window "10"', '10'],
    ['window -1', -1],
    ['window 0', 0],
    ['window "1e3"', '1e3'],
  ])('%s throws at construction', (__, window) => {
    const refused = expect.objectContaining({
      code: expect.stringMatching(/^WEIR_INVALID_(DURATION|POLICY)$/),
    })
    expect(() => make({ limit: 5, window: window as number })).toThrow(refused)
    expect(() => bucketOf(5, window as number)).toThrow(refused)
  })

  test('a window beyond 2^31 ms is kept without a timer for each key', async () => {
    const policy = make({ limit: 1, window: '30d' })
    const limiter = new RateLimiter({ store: memoryStore(), policy })
    expect((await limiter.consume('k')).allowed).toBe(true)
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, reason: 'limit' })
  })
})

test('limits of a rate may be fractions, and unlimited has to be explicit', async () => {
  expect(gcra({ limit: 1.5, period: '1s' }).limit).toBe(1)
  expect((await new RateLimiter({ policy: unlimited() }).consume('k')).allowed).toBe(true)
})

const stores: [name: string, open: () => Store][] = [
  ['memory', () => memoryStore()],
  ['Redis', () => strictStore(client)],
]

describe.each(stores)('on %s', (_, open) => {
  const policies: [string, Policy][] = [
    ...factories.map(([name, make]): [string, Policy] => [name, make({ limit: 0, window: '1s' })]),
    ['tokenBucket', tokenBucket({ capacity: 0, refill: 1, every: '1s' })],
  ]

  test.each(policies)('limit 0 denies everything: %s', async (__, policy) => {
    const limiter = new RateLimiter({ name: newName(), store: open(), policy })
    expect((await limiter.consume('k')).allowed).toBe(false)
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 'x', null, -5, 1.5])(
    'cost %s throws',
    async (cost) => {
      const limiter = new RateLimiter({
        name: newName(),
        store: open(),
        policy: slidingLog({ limit: 5, window: '1m' }),
      })
      for (const method of ['consume', 'peek', 'penalty', 'refund'] as const) {
        const promise = limiter[method]('k', { cost: cost as number })
        await expect(promise).rejects.toMatchObject({ code: 'WEIR_INVALID_COST' })
      }
      expect((await limiter.peek('k')).remaining).toBe(5)
    },
  )

  test('a cost above the limit is denied forever, and counts nothing', async () => {
    const limiter = new RateLimiter({
      name: newName(),
      store: open(),
      policy: slidingLog({ limit: 5, window: '1m' }),
    })
    expect(await limiter.consume('k', { cost: 6 })).toMatchObject({
      allowed: false,
      reason: 'cost-exceeds-limit',
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
    expect((await limiter.peek('k')).remaining).toBe(5)
  })

  test.each([undefined, null, {}, ''])('key %j throws', async (key) => {
    const limiter = new RateLimiter({
      name: newName(),
      store: open(),
      policy: slidingLog({ limit: 5, window: '1m' }),
    })
    await expect(limiter.consume(key as string)).rejects.toMatchObject({ code: 'WEIR_INVALID_KEY' })
  })

  test('keys of any shape have a bucket each', async () => {
    const limiter = new RateLimiter({
      name: newName(),
      store: open(),
      policy: slidingLog({ limit: 1, window: '1m' }),
    })
    const keys = [
      'a b',
      'a\nb',
      'a\r\nb',
      'a\0b',
      '\ud800',
      '\udfff',
      '\ufffd',
      'é',
      'e\u0301',
      'Bob',
      'bob',
      '}',
      '}a',
      '{x}y',
      '{}',
      '__proto__',
      'constructor',
      'x'.repeat(8_192),
      `${'x'.repeat(8_191)}y`,
    ]
    for (const key of keys)
      expect((await limiter.consume(key)).allowed, JSON.stringify(key).slice(0, 40)).toBe(true)
    for (const key of keys)
      expect((await limiter.consume(key)).allowed, JSON.stringify(key).slice(0, 40)).toBe(false)
  })
})

test('a long key is stored as a hash', async () => {
  const name = newName()
  const limiter = new RateLimiter({
    name,
    store: strictStore(client),
    policy: slidingLog({ limit: 5, window: '1m' }),
  })
  const key = 'z'.repeat(8_192)
  await limiter.consume(key)
  const keys = await client.keys(`*:${name}:*`)
  expect(keys.length).toBe(1)
  expect(keys[0]).toContain(`{%23${createHash('sha256').update(key).digest('hex')}}`)
})

/** Collects the warnings of a test that is about them. */
function warningCodes(): string[] {
  const codes: string[] = []
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(((
    _: string,
    { code }: { code: string },
  ) => {
    codes.push(code)
  }) as typeof process.emitWarning)
  onTestFinished(() => warn.mockRestore())
  return codes
}

test('clients without an address share one bucket, and their requests do not fail', async () => {
  const codes = warningCodes()
  const { sendNow } = limitOn({ policy: slidingLog({ limit: 1, window: '1m' }) })
  expect(sendNow({ address: undefined })).toBeUndefined()
  expect(sendNow({ address: undefined })).toMatchObject({ status: 429 })
  expect(codes).toEqual(['WEIR_NO_ADDRESS'])
})

test.each([
  ['throws', () => Promise.reject(new Error('no session'))],
  ['throws at once', () => expect.unreachable('no session')],
])('a key function that %s fails its request, and nobody is let through', async (_, key) => {
  const { send } = limitOn({ key: key as (request: FakeRequest) => Promise<string> })
  await expect(send()).rejects.toThrow('no session')
})

test.each([
  ['NaN', Number.NaN],
  ['negative', -5],
  ['a text', 'x'],
])('a limit of %s that a policy function computes is never unlimited', async (_, limit) => {
  const codes = warningCodes()
  let computed: unknown = 2
  const limiter = new RateLimiter({
    name: newName(),
    policy: () => slidingLog({ name: 'p', limit: computed as number, window: '1m' }),
  })
  await limiter.consume('known')
  computed = limit
  expect((await limiter.consume('known')).remaining).toBe(0)
  expect((await limiter.consume('known')).allowed).toBe(false)
  await expect(limiter.consume('unknown')).rejects.toMatchObject({ code: 'WEIR_POLICY_FAILED' })
  expect(codes).toEqual(['WEIR_POLICY_FAILED'])
})
