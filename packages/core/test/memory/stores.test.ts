// The memory store's bounds, the names of keys, and the reply codec.

import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { idOf } from '../../src/base/key-text.js'
import {
  fixedWindow,
  memoryStore,
  RateLimiter,
  redisStore,
  slidingLog,
  tokenBucket,
} from '../../src/index.js'
import {
  encodePart,
  encodeTag,
  keyFormat,
  keyNames,
  keysOf,
} from '../../src/redis/transport/keys.js'
import { makePolicySet } from '../../src/request.js'
import type { Target } from '../../src/store.js'
import { fakeClock } from '../../src/testing/index.js'

test('a peek in a full memory store made room, and so gave others their units back', async () => {
  const clock = fakeClock()
  const policy = slidingLog({ limit: 5, window: '1h' })
  const limiter = new RateLimiter({ store: memoryStore({ maxKeys: 2, clock }), policy })
  await limiter.consume('a', { cost: 4 })
  await limiter.consume('b', { cost: 4 })
  for (const key of ['c', 'd', 'e', 'f', 'g']) {
    expect((await limiter.peek(key)).remaining).toBe(5)
    await limiter.consume(key, { cost: 0 })
    await limiter.consume(key, { cost: 6 })
  }
  expect((await limiter.peek('a')).remaining).toBe(1)
  expect((await limiter.peek('b')).remaining).toBe(1)
})

test('a reset of a key that was never seen forgot the bucket that newcomers share', async () => {
  const store = memoryStore({ maxKeys: 2, clock: fakeClock() })
  const limiter = new RateLimiter({ store, policy: slidingLog({ limit: 5, window: '1h' }) })
  for (const key of ['a', 'b', 'new']) await limiter.consume(key, { cost: 5 })
  await limiter.reset('never seen')
  expect((await limiter.consume('new')).allowed).toBe(false)
})

test('swept keys had more left when the clock went back', async () => {
  const clock = fakeClock()
  const policy = fixedWindow({ limit: 1, window: '1s' })
  const limiter = new RateLimiter({ store: memoryStore({ clock }), policy })
  await limiter.consume('k')
  clock.advance('5s')
  for (let i = 0; i < 20; i += 1) await limiter.consume(`other${i}`)
  clock.advance(-4_500)
  expect((await limiter.peek('k')).remaining).toBe(0)
})

describe('no text can be mistaken for', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom('a', 'b', '\n', '\na', '["a","b"]', '\n["a","b"]', '\n#'),
  )
  const key = text.filter((each) => each !== '')
  const own = fc.oneof(key, fc.tuple(key, key))
  const target = fc.record({
    key,
    policyKeys: fc.option(fc.array(fc.option(own), { maxLength: 3 })),
  })
  type Drawn = typeof target extends fc.Arbitrary<infer Value> ? Value : never

  const policySet = makePolicySet('p', [slidingLog({ limit: 1, window: '1h' })])

  function targetOf({ key, policyKeys }: Drawn): Target {
    const owns = policyKeys?.map((each) => {
      if (each === null) return undefined
      return typeof each === 'string' ? { key: each, tag: each } : { key: each[0], tag: each[1] }
    })
    return { policySet, key, policyKeys: owns }
  }

  test('another key, or a list of keys', () => {
    const seen = new Map<string, string>()
    fc.assert(
      fc.property(target, (drawn) => {
        const given = targetOf(drawn)
        const whole = JSON.stringify([given.key, given.policyKeys])
        // What stands for a target must not stand for a plain key with that text either.
        for (const each of [given, { policySet, key: idOf(given) }]) {
          const id = idOf(each)
          const who = each === given ? whole : JSON.stringify([each.key, undefined])
          expect(seen.get(id) ?? who).toBe(who)
          seen.set(id, who)
        }
      }),
      { numRuns: stepsOf(600, 10_000) },
    )
  })

  test('a policy key together with its tag: a request for that text as a key has another counter', async () => {
    const policy = slidingLog({ name: 'p', limit: 1, window: '1h' })
    const limiter = new RateLimiter({ policy })
    await limiter.consume('k', { policy: [{ policy, key: 'partners', tag: 'partner-7' }] })
    for (const guess of ['["partner-7","partners"]', '\n["partner-7","partners"]', 'partners']) {
      expect((await limiter.consume(guess)).allowed).toBe(true)
    }
  })
})

describe('names of keys in Redis', () => {
  const policySet = makePolicySet('search', [
    tokenBucket({ name: 'burst', capacity: 1, refill: 1, every: 1 }),
    fixedWindow({ name: 'daily', limit: 1, window: '1d' }),
  ])
  const names = keyNames(keyFormat('weir'), policySet)

  test('have one tag, and name what they belong to', () => {
    expect(keysOf(names, { policySet, key: 'u42' }, [])).toEqual([
      'weir:{u42}:search:burst:bucket1-1ms',
      'weir:{u42}:search:daily:fixed1-1d',
    ])
  })

  test('contain a policy key, and the tag if it differs', () => {
    const own = { key: 'acme', tag: 'acme' }
    const tagged = { key: 'a:b', tag: 'acme' }
    expect(keysOf(names, { policySet, key: 'u42', policyKeys: [own, tagged] }, [])).toEqual([
      'weir:{acme}:search:burst:bucket1-1ms',
      'weir:{acme}:search:daily:a%3Ab:fixed1-1d',
    ])
  })

  test.each([
    ['}', '%7D'],
    ['{x}y', '%7Bx%7Dy'],
    ["it's (1)*!", 'it%27s%20%281%29%2A%21'],
    ['a:b', 'a%3Ab'],
    ['\0\n', '%00%0A'],
    ['é', '%C3%A9'],
    ['#', '%23'],
  ])('encode %s', (text, encoded) => {
    expect(encodePart(text)).toBe(encoded)
  })

  test.each([
    ['2001:db8::/56', '2001:db8::/56'],
    ['ann@example.org', 'ann@example.org'],
    ['}', '%7D'],
    ['a b', 'a%20b'],
    ['{', '%7B'],
  ])('keep addresses readable between the braces, but encode braces: %s', (text, encoded) => {
    expect(encodeTag(text)).toBe(encoded)
  })

  test.each(['x'.repeat(129), '\ud800', '\udfff', 'é'.repeat(60), 'y'.repeat(2 ** 20)])(
    'replace long and ill-formed texts by a hash',
    (text) => {
      expect(encodePart(text)).toMatch(/^#[A-Za-z0-9_-]{43}$/)
    },
  )

  test('never give two texts one name, nor contain a brace, a colon or a control character from them', () => {
    const ways = [
      { encode: encodePart, right: /^[#%A-Za-z0-9_.~-]*$/, seen: new Map<string, string>() },
      { encode: encodeTag, right: /^[#%A-Za-z0-9_.~:@/-]*$/, seen: new Map<string, string>() },
    ]
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const { encode, right, seen } of ways) {
          const encoded = encode(text)
          expect(encoded).toMatch(right)
          expect(encoded.length).toBeLessThanOrEqual(128)
          expect(seen.get(encoded) ?? text).toBe(text)
          seen.set(encoded, text)
        }
      }),
      { numRuns: stepsOf(1_000, 20_000) },
    )
  })

  test.each(['', 'a{b}', 'a b', 'x'.repeat(65), 1, null])('refuse the prefix %s', (prefix) => {
    const client = { callBuffer: async () => undefined }
    expect(() => redisStore(client, { prefix: prefix as string })).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })

  test.each([undefined, null, {}, { evalsha() {} }])(
    'refuse a client of another kind',
    (client) => {
      expect(() => redisStore(client as never)).toThrow(
        expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
      )
    },
  )

  test("refuse a client's keyPrefix that would move all keys to one slot", () => {
    const client = { callBuffer: async () => undefined, options: { keyPrefix: '{app}:' } }
    expect(() => redisStore(client)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })
})
