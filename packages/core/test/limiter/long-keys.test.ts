// Keys of any length: how they are counted, and what they cost.

import { createHash } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { limitsFrom } from '../../src/entries/live.js'
import {
  fixedWindow,
  type Key,
  memoryStore,
  RateLimiter,
  type Store,
  tokenBucket,
} from '../../src/index.js'
import { livePoliciesIn } from '../../src/live/live-policies.js'
import type { Target } from '../../src/store.js'
import { fakeClock } from '../../src/testing/index.js'
import { virtualTime } from '../virtual-time.js'

const policy = fixedWindow({ name: 'own', limit: 10, window: '1h' })
const LONGEST = 8_192

function nameOf(text: string): string {
  return `#${createHash('sha256').update(text).digest('hex')}`
}

/** A memory store that records its requests. */
function watched(): { store: Store; asked: Target[] } {
  const inner = memoryStore({ clock: fakeClock() })
  const asked: Target[] = []
  const store: Store = {
    ...inner,
    decide(request) {
      asked.push(request.target)
      return inner.decide(request)
    },
    reset(target) {
      asked.push(target)
      return inner.reset(target)
    },
  }
  return { store, asked }
}

describe('a key of more than 256 characters is counted under # and its SHA-256', () => {
  test('by all methods, and shown as it was given', async () => {
    const { store, asked } = watched()
    const bucket = tokenBucket({ name: 'b', capacity: 100, refill: 1, every: '1h' })
    const told: string[] = []
    const limiter = new RateLimiter({
      name: 'all',
      store,
      policy: (key) => {
        told.push(key)
        return bucket
      },
      onDecision: (_, key) => void told.push(key),
    })
    const key = `tenant:${'é中'.repeat(200)}`
    const decision = await limiter.consume(key)
    expect(decision).toMatchObject({ key, remaining: 99 })
    expect(await limiter.decide(key)).toMatchObject({ key, remaining: 98 })
    expect(await limiter.peek(key)).toMatchObject({ key, remaining: 98 })
    expect(await limiter.wait(key)).toMatchObject({ key, remaining: 97 })
    expect(await limiter.consumeUpTo(key, 5)).toMatchObject({ key, remaining: 92 })
    expect(await limiter.penalty(key)).toMatchObject({ key, remaining: 91 })
    await limiter.refund(decision)
    await limiter.settle(await limiter.consume(key), 3)
    expect((await limiter.peek(decision.key)).remaining).toBe(89)
    await limiter.reset(decision.key)
    expect((await limiter.peek(key)).remaining).toBe(100)
    expect(new Set(asked.map((target) => target.key))).toEqual(new Set([nameOf(key)]))
    expect(new Set(told)).toEqual(new Set([key]))
  })

  test('a policy key and a tag also, and a reset by that key', async () => {
    const { store, asked } = watched()
    const [key, tag] = ['k'.repeat(257), 't'.repeat(300)]
    const team = fixedWindow({ name: 'team', limit: 10, window: '1h' })
    const limiter = new RateLimiter({
      name: 'own',
      store,
      policy: [policy, { policy: team, key, tag }],
    })
    await limiter.consume('u1')
    expect(asked[0]?.policyKeys).toEqual([undefined, { key: nameOf(key), tag: nameOf(tag) }])
    await limiter.reset(key)
    const left = (await limiter.peek('u1')).policies.map(({ remaining }) => remaining)
    expect(left).toEqual([9, 10])
  })

  test('a key of 256 characters stays as it is, and longer ones with equal lengths are distinguished', async () => {
    const { store, asked } = watched()
    const limiter = new RateLimiter({ name: 'bounds', store, policy })
    for (const key of ['k'.repeat(256), '#', '#short', `#${'z'.repeat(64)}`])
      await limiter.consume(key)
    expect(asked.map(({ key }) => key)).toEqual([
      'k'.repeat(256),
      '#',
      '#short',
      `#${'z'.repeat(64)}`,
    ])
    const alike = ['a', 'b', '\ud800', '\udfff', '\ufffd'].map((end) => `${'k'.repeat(400)}${end}`)
    for (const key of alike) expect((await limiter.consume(key)).remaining).toBe(9)
  })

  test('a client that sends the hash of another’s key is not counted with it', async () => {
    const limiter = new RateLimiter({ name: 'fooled', store: memoryStore(), policy })
    const long = 'k'.repeat(1_000)
    await limiter.consume(long, { cost: 10 })
    const short = nameOf(long)
    expect((await limiter.consume(short)).remaining).toBe(9)
    expect((await limiter.consume(nameOf(short))).remaining).toBe(9)
    expect((await limiter.consume(long)).allowed).toBe(false)
  })
})

describe('a key of more than 8,192 characters is refused, before the store is asked', () => {
  const untouched: Store = {
    decide: () => expect.unreachable('the store was asked'),
    reset: () => expect.unreachable('the store was asked'),
  }
  const limiter = new RateLimiter({ store: untouched, policy })
  const refused = {
    name: 'RangeError',
    code: 'WEIR_INVALID_KEY',
    message: `key is "${'k'.repeat(64)}…", of 8193 characters; give one of at most 8192`,
  }
  const long = 'k'.repeat(LONGEST + 1)

  test('by all methods', async () => {
    await expect(limiter.consume(long)).rejects.toMatchObject(refused)
    await expect(limiter.peek(long)).rejects.toMatchObject(refused)
    await expect(limiter.wait(long)).rejects.toMatchObject(refused)
    await expect(limiter.consumeUpTo(long, 2)).rejects.toMatchObject(refused)
    await expect(limiter.penalty(long)).rejects.toMatchObject(refused)
    await expect(limiter.refund(long)).rejects.toMatchObject(refused)
    await expect(limiter.reset(long)).rejects.toMatchObject(refused)
    expect(() => limiter.decide(long)).toThrow(expect.objectContaining(refused))
    const big: Key = 10n ** BigInt(LONGEST)
    await expect(limiter.consume(big)).rejects.toMatchObject({ code: 'WEIR_INVALID_KEY' })
  })

  test('a key that a policy function gives to a policy is no failure of the function', async () => {
    const own = new RateLimiter({
      store: memoryStore(),
      policy: (key) => [{ policy, key }],
      whenPolicyFails: 'allow',
    })
    await own.consume('k')
    const choose = { policy: () => [{ policy, key: long }] }
    await expect(own.consume('k', choose)).rejects.toMatchObject(refused)
    const later = { policy: async () => [{ policy, key: 'k', tag: long }] }
    await expect(own.consume('k', later)).rejects.toMatchObject(refused)
  })
})

describe('policies that depend on the key', () => {
  const twice = fixedWindow({ name: 'own', limit: 20, window: '1h' })
  const thrice = fixedWindow({ name: 'own', limit: 30, window: '1h' })
  const long = `org-7:${'k'.repeat(1_000)}`

  test('an override of a long key applies, is listed by its hash, and is removed by it', async () => {
    const time = virtualTime()
    const store = memoryStore({ clock: time })
    const limits = livePoliciesIn(time, store, { name: 'long', defaults: { plan: policy } })
    await limits.override(long, twice)
    await limits.override({ prefix: 'org-7:' }, thrice)
    await time.advance(3_000)
    expect(limits.for('plan', long).limit).toBe(20)
    expect(limits.for('plan', `${long}!`).limit).toBe(30)
    expect(limits.for('plan', `org-7:${'k'.repeat(LONGEST)}`).limit).toBe(30)
    const limiter = new RateLimiter({ name: 'live', policy: limits.policy('plan') })
    expect((await limiter.consume(long)).limit).toBe(20)
    expect(limits.overrides()[0]?.key).toBe(nameOf(long))
    await limits.remove(nameOf(long))
    await time.advance(3_000)
    expect(limits.for('plan', long).limit).toBe(30)
    limits.close()
  })

  test('limitsFrom loads by the key itself, once, and nothing for a key that is too long', async () => {
    const loaded: string[] = []
    const limits = limitsFrom({
      load(key) {
        loaded.push(key)
        return twice
      },
      default: policy,
    })
    const keys = [long, `${long}!`, 'k'.repeat(LONGEST + 1)]
    for (const key of [...keys, ...keys]) await limits.for(key)
    expect(loaded).toEqual(keys.slice(0, 2))
    limits.forget(long)
    expect(await limits.for(long)).toBe(twice)
    expect(loaded).toHaveLength(3)
  })
})

describe('the work for a long key', () => {
  const native = String.prototype.charCodeAt
  afterEach(() => {
    String.prototype.charCodeAt = native
  })

  test('is one pass over it, even with a policy for the key', async () => {
    const time = virtualTime()
    const store = memoryStore({ clock: time })
    const limits = livePoliciesIn(time, store, { name: 'work', defaults: { plan: policy } })
    await limits.override('somebody', policy)
    await time.advance(3_000)
    const limiter = new RateLimiter({ name: 'work', store, policy: limits.policy('plan') })
    let reads = 0
    String.prototype.charCodeAt = function (index) {
      reads += 1
      return native.call(this, index)
    }
    await limiter.consume('k'.repeat(LONGEST))
    // Its name is hashed to find its place.
    expect(reads).toBeLessThan(LONGEST + 1_000)
    limits.close()
  })
})
