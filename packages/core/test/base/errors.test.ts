// How messages show the values that users pass.

import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { invalid, quote, rangeError, StoreError, typeError } from '../../src/base/errors.js'
import {
  memoryStore,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
import { fromGlide } from '../../src/redis/clients/glide.js'
import { fromNodeRedis } from '../../src/redis/clients/node-redis.js'

const SECRET = 'redis://admin:hunter2@redis.inside:6379'
const policy = tokenBucket({ name: 'burst', capacity: 1, refill: 1, every: '1s' })
const client = new Redis({ ...recommendedRedisOptions, lazyConnect: true })

test.each<[unknown, string]>([
  ['a "text"\n', '"a \\"text\\"\\u000a"'],
  [7, '7'],
  [7n, '7n'],
  [undefined, 'undefined'],
  [null, 'null'],
  [policy, 'tokenBucket "burst"'],
  [unlimited(), 'unlimited "unlimited"'],
  [client, 'a Redis client'],
  [{ sendCommand: () => 1 }, 'a Redis client'],
  [new RateLimiter({ policy }), 'a RateLimiter'],
  [memoryStore(), '{ local, recovers, reserves, resilient, settings, decide, reset,…'],
  [{}, '{}'],
  [{ limit: 1, '\n': 2 }, '{ limit, \\u000a }'],
  [Promise.resolve(), 'a promise'],
  [['a', policy, 1, 2], '["a", tokenBucket "burst", 1, ...]'],
  [[], '[]'],
  [function keyOf() {}, 'a function keyOf'],
  [() => 1, 'a function'],
  [new TypeError('gone'), 'TypeError: gone'],
  ['redis://user:secret@host:6379/0', '"redis://…"'],
  [' REDISS://:secret@host', '" REDISS://…"'],
  [`redis+sentinel://${'u'.repeat(80)}:secret@host`, '"redis+sentinel://…"'],
  // What ioredis makes of valkey://, of redis:/ and of a URL with a typed quote.
  ['connect ENOENT //user:secret@host:6379', '"connect ENOENT //…"'],
  ['connect ENOENT //:secret word@host', '"connect ENOENT //…"'],
  ['connect ENOENT /user:secret@host:6379', '"connect ENOENT /…"'],
  [`connect ENOENT //user:${'secret'.repeat(20)}@host`, '"connect ENOENT //…"'],
  ['connect ENOENT /run/redis.sock', '"connect ENOENT /run/redis.sock"'],
  ['login:ann@example.com', '"login:ann@example.com"'],
  [new URL('redis://user:secret@host'), 'a URL'],
  [['redis://user:secret@host'], '["redis://…"]'],
  [new Error('no answer of redis://user:secret@host'), 'Error: no answer of redis://…'],
  [new Map(), 'a Map'],
  [Object.create(null), '{}'],
  [Symbol('s'), 'Symbol(s)'],
])('%o is %s', (value, text) => {
  expect(quote(value)).toBe(text)
})

test.each([
  ['a store', () => new RateLimiter({ policy, store: SECRET as never })],
  ['options', () => new RateLimiter(SECRET as never)],
  ['a client', () => redisStore(SECRET as never)],
  ['a policy', () => new RateLimiter({ policy: SECRET as never })],
  ['an option of a store', () => memoryStore({ [SECRET]: 1 } as never)],
])('no message shows the password of a URL that was given as %s', (_, make) => {
  expect(make).toThrow(expect.objectContaining({ code: expect.stringMatching(/^WEIR_/) }))
  expect(make).not.toThrow(/hunter2|admin|inside/)
})

test.each([
  ['redisStore', redisStore],
  ['fromNodeRedis', fromNodeRedis],
  ['fromGlide', fromGlide],
])('%s shows nothing of an address that was given instead of a client', (_, take) => {
  expect(() => take('admin:hunter2@redis.inside:6379' as never)).toThrow(
    expect.objectContaining({
      code: 'WEIR_INVALID_OPTION',
      message: expect.stringMatching(/^client is a text; give .*of ioredis|node-redis|GLIDE/),
    }),
  )
  expect(() => take('admin:hunter2@redis.inside:6379' as never)).not.toThrow(/hunter2|inside/)
})

test('every quoted value is short printable ASCII', () => {
  const long = 'é\r\n'.repeat(100)
  const values = [
    long,
    [long, long],
    { [long]: 1 },
    new Error(long),
    { name: long, algorithm: long },
  ]
  for (const value of values) expect(quote(value)).toMatch(/^[\x20-\x7e…]{1,900}$/)
  const deep: unknown[] = []
  deep.push(deep)
  expect(quote(deep)).toBe('[an array]')
  const closed = {
    get name() {
      throw new Error('not to be read')
    },
  }
  expect(quote(closed)).toBe('an object')
})

describe('a message names the page that explains it', () => {
  test.each([
    rangeError('WEIR_INVALID_COST', 'cost is -1'),
    typeError('WEIR_INVALID_COST', 'cost is "x"'),
    invalid('WEIR_INVALID_COST', 'cost', -1, 'a whole number', 'number'),
    new StoreError('WEIR_STORE_FAILED', 'the store is closed'),
  ])('$name', ({ message, code }) => {
    expect(message.split(' (see ')[1]).toBe(`docs/errors.md#${code.toLowerCase()})`)
  })

  test('once: not if it already says which page to read', () => {
    expect(typeError('WEIR_INVALID_OPTION', 'see docs/migrating.md').message).toBe(
      'see docs/migrating.md',
    )
  })
})
