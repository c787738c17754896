// `whenUnavailable` has an effect wherever it can be set.

import { describe, expect, test } from 'vitest'
import { resilient } from '../../src/entries/store.js'
import {
  fixedWindow,
  memoryStore,
  RateLimiter,
  type RateLimiterOptions,
  type Store,
} from '../../src/index.js'

const policy = fixedWindow({ limit: 5, window: '1m' })
const failing: Store = {
  decide: () => Promise.reject(new Error('no table')),
  reset() {},
}
const GIVEN: [string, Pick<RateLimiterOptions, 'policy' | 'whenUnavailable'>][] = [
  ['for a limiter', { policy, whenUnavailable: 'deny' }],
  ['for a policy', { policy: [{ policy, whenUnavailable: 'deny' }] }],
  ['for a limiter whose policy is a function', { policy: () => policy, whenUnavailable: 'deny' }],
]

describe.each(GIVEN)('%s', (_, options) => {
  test('on a store that ignores it, it is refused, and the error names resilient', () => {
    const make = () => new RateLimiter({ name: 'log-in', store: failing, ...options })
    const message = /limiter "log-in" is "deny", .*; give it store: resilient\(store\) \(see /
    expect(make).toThrow(
      expect.objectContaining({
        code: 'WEIR_INVALID_OPTION',
        message: expect.stringMatching(message),
      }),
    )
  })

  test('on a resilient store, and on one that is spread into another object, it applies', async () => {
    const inner = resilient(failing)
    for (const store of [inner, { ...inner }]) {
      const limiter = new RateLimiter({ store, ...options })
      expect(await limiter.consume('k')).toMatchObject({ reason: 'store-unavailable' })
    }
    await inner.close()
  })

  test('on a memory store, which always decides, it can be set', async () => {
    const limiter = new RateLimiter({ store: memoryStore(), ...options })
    expect((await limiter.consume('k')).allowed).toBe(true)
  })
})

test('an invalid one that a policy function returns is a failure of the function', async () => {
  const limiter = new RateLimiter({
    store: failing,
    policy: () => [{ policy, whenUnavailable: 'allow' }],
  })
  await expect(limiter.consume('k')).rejects.toMatchObject({
    code: 'WEIR_POLICY_FAILED',
    cause: { code: 'WEIR_INVALID_OPTION' },
  })
})
