// Options from instances of classes, as configuration often has them.

import { expect, test } from 'vitest'
import type { RedisLike } from '../../src/entries/store.js'
import { gcra, type Policy, RateLimiter, redisStore, tokenBucket } from '../../src/index.js'
import { limitOn } from '../http/exchange.js'

const client: RedisLike = { callBuffer: () => Promise.reject(new Error('not asked')) }

test('getters of a class are options, and are checked', async () => {
  class Settings {
    get prefix(): string {
      return 'a{b}'
    }
  }
  expect(() => redisStore(client, new Settings())).toThrow(/prefix is "a\{b\}"/)
  const inherited = Object.create({ deadlineMs: Number.NaN })
  expect(() => redisStore(client, inherited)).toThrow(/deadlineMs is NaN/)
  const named = Object.create({
    name: 'a b',
    policy: tokenBucket({ capacity: 1, refill: 1, every: 1 }),
  })
  expect(() => new RateLimiter(named)).toThrow(/a b/)
  class Pace {
    readonly #limit = 10
    get limit(): number {
      return this.#limit
    }
    get period(): '1s' {
      return '1s'
    }
    get name(): string {
      return 'pace'
    }
  }
  expect(gcra(new Pace())).toMatchObject({ name: 'pace', limit: 10, windowMs: 1_000 })
})

test.each(['delayAfter', 'delayMs', 'maxDelayMs'])(
  'whoever delays requests elsewhere by %s is shown wait',
  (name) => {
    const options = { limit: 1, window: '1m', [name]: 100 } as never
    expect(() => limitOn(options)).toThrow(
      `a rate limit does not know the option "${name}"; here that is wait: see docs/migrating.md`,
    )
  },
)

test('a property that somebody added to all objects is no option', () => {
  const all = Object.prototype as { strange?: number }
  all.strange = 1
  try {
    expect(tokenBucket({ capacity: 1, refill: 1, every: '1s' }).limit).toBe(1)
  } finally {
    delete all.strange
  }
})

test('a policy from a copy of this package with other numbers is refused', () => {
  const policy = tokenBucket({ capacity: 20, refill: 10, every: '1s' })
  // As in version 0.1: price, capacity, span.
  const numbers = [800_000, 20, 16_000_000] as unknown as Policy['numbers']
  const old: Policy = { ...policy, kernel: policy.kernel, numbers }
  expect(() => new RateLimiter({ policy: old })).toThrow(
    expect.objectContaining({ code: 'WEIR_INVALID_POLICY' }),
  )
})
