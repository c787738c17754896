// Which values are keys, and which counters a key means.

import { describe, expect, test } from 'vitest'
import {
  type Decision,
  fixedWindow,
  type Key,
  memoryStore,
  RateLimiter,
  type Store,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const policy = fixedWindow({ name: 'own', limit: 10, window: '1h' })
const team = fixedWindow({ name: 'team', limit: 100, window: '1h' })

describe('a whole number and a bigint are keys, the same ones as their text', () => {
  const NUMBERS: [Key, string][] = [
    [42, '42'],
    [0, '0'],
    [-0, '0'],
    [-7, '-7'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [2n ** 70n, '1180591620717411303424'],
  ]

  test.each(NUMBERS)('%s', async (key, text) => {
    const told: string[] = []
    const limiter = new RateLimiter({
      store: memoryStore({ clock: fakeClock() }),
      policy: (name) => {
        told.push(name)
        return policy
      },
      onDecision: (_, name) => void told.push(name),
    })
    expect(await limiter.consume(key)).toMatchObject({ key: text, remaining: 9 })
    expect(await limiter.decide(key)).toMatchObject({ key: text, remaining: 8 })
    expect(await limiter.penalty(key, { cost: 2 })).toMatchObject({ key: text, remaining: 6 })
    expect(await limiter.peek(text)).toMatchObject({ key: text, remaining: 6 })
    await limiter.refund(key)
    expect((await limiter.peek(text)).remaining).toBe(7)
    await limiter.reset(key)
    expect((await limiter.peek(key)).remaining).toBe(10)
    expect(new Set(told)).toEqual(new Set([text]))
  })

  test.each(NUMBERS)('%s, as a policy key and as a tag', async (key, text) => {
    const limiter = new RateLimiter({
      name: 'own-keys',
      store: memoryStore({ clock: fakeClock() }),
      policy: (account) => [policy, { policy: team, key: account === text ? key : text, tag: key }],
    })
    await limiter.consume('one')
    await limiter.consume(key)
    expect((await limiter.consume('two')).policies.map(({ remaining }) => remaining)).toEqual([
      9, 97,
    ])
  })
})

describe('any other value is an error with a code, before the store is asked', () => {
  const untouched: Store = {
    decide: () => expect.unreachable('the store was asked'),
    reset: () => expect.unreachable('the store was asked'),
  }
  const limiter = new RateLimiter({ store: untouched, policy })
  const refused = {
    code: 'WEIR_INVALID_KEY',
    message: expect.stringContaining('give a text that is not empty'),
  }

  test.each([
    undefined,
    null,
    true,
    Symbol('s'),
    '',
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    () => 'k',
  ])('%s', async (wrong) => {
    const key = wrong as never
    await expect(limiter.consume(key)).rejects.toMatchObject(refused)
    await expect(limiter.peek(key)).rejects.toMatchObject(refused)
    await expect(limiter.penalty(key)).rejects.toMatchObject(refused)
    await expect(limiter.refund(key)).rejects.toMatchObject(refused)
    await expect(limiter.reset(key)).rejects.toMatchObject(refused)
    expect(() => limiter.decide(key)).toThrow(expect.objectContaining(refused))
    if (wrong === undefined) return
    expect(() => new RateLimiter({ policy: [{ policy, key }] })).toThrow(
      expect.objectContaining(refused),
    )
    const tagged = [{ policy, key: 'k', tag: key }]
    expect(() => new RateLimiter({ policy: tagged })).toThrow(expect.objectContaining(refused))
  })
})

describe('a reset forgets the counters of its key only', () => {
  const perAddress = fixedWindow({ name: 'address', limit: 50, window: '1h' })
  const store = memoryStore({ clock: fakeClock() })
  let runs = 0

  function used() {
    runs += 1
    const limiter = new RateLimiter({
      name: `resets${runs}`,
      store,
      policy: [
        policy,
        { policy: team, key: 'all' },
        { policy: perAddress, key: 'all', tag: 'elsewhere' },
        { policy: fixedWindow({ name: 'other', limit: 20, window: '1h' }), key: 'u1' },
      ],
    })
    return limiter
  }

  function left({ policies }: Decision): number[] {
    return policies.map(({ remaining }) => remaining)
  }

  test.each([
    ['u1', 'u1', [10, 99, 49, 20]],
    ['u2', 'u1', [9, 99, 49, 20]],
    ['u1', 'all', [9, 100, 50, 19]],
    ['all', 'all', [10, 100, 50, 19]],
    ['u1', 'elsewhere', [9, 99, 49, 19]],
  ])('charged to %s, reset of %s: %j are left', async (charged, forgotten, then) => {
    const limiter = used()
    expect(left(await limiter.consume(charged))).toEqual([9, 99, 49, 19])
    await limiter.reset(forgotten)
    expect(left(await limiter.peek(charged))).toEqual(then)
  })

  test('if no policy counts under the key, nothing is forgotten', async () => {
    const limiter = new RateLimiter({
      name: 'only-all',
      store,
      policy: [{ policy: team, key: 'all' }],
    })
    await limiter.consume('u1')
    await limiter.reset('u1')
    expect((await limiter.peek('u1')).remaining).toBe(99)
    await limiter.reset('all')
    expect((await limiter.peek('u1')).remaining).toBe(100)
  })
})
