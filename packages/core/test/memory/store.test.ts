// The memory store as its users see it, with both kinds of keys.

import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js'
import { makePolicySet } from '../../src/request.js'
import type { PolicySet, StoreResult } from '../../src/store.js'
import { algorithms } from '../../src/testing/algorithms.js'
import { fakeClock, storeConformance } from '../../src/testing/index.js'

describe('a memory store of fingerprints keeps the contract of a store', () => {
  const cases = storeConformance((clock) => memoryStore({ clock, keys: 'fingerprint' }))
  for (const { name, run } of cases) test(name, run)
})

describe('both kinds of keys', () => {
  const policies: readonly Policy[] = [
    tokenBucket({ capacity: 5, refill: 7, every: '1m' }),
    fixedWindow({ limit: 5, window: '10s' }),
    slidingLog({ limit: 5, window: '10s' }),
    slidingWindow({ limit: 9, window: '7s', parts: 10 }),
    slidingCounter({ limit: 5, window: '10s' }),
  ]

  test.each(policies)('get the same decisions for the same requests ($algorithm)', (policy) => {
    const policySet = makePolicySet('p', [policy])
    const step = fc.record({
      mode: fc.constantFrom('consume', 'consume', 'consume', 'peek', 'refund', 'penalty'),
      key: fc.integer({ min: 0, max: 30 }).map((i) => `key-${i}`),
      cost: fc.integer({ min: 0, max: 6 }),
      advanceMs: fc.constantFrom(0, 0, 1, 100, 3_000, 11_000),
      reset: fc.integer({ min: 0, max: 20 }).map((i) => i === 0),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const clock = fakeClock()
        const stores = (['exact', 'fingerprint'] as const).map((keys) =>
          memoryStore({ clock, keys }),
        )
        for (const { mode, key, cost, advanceMs, reset } of steps) {
          clock.advance(advanceMs)
          const target = { policySet, key }
          const results = stores.map((store): StoreResult => {
            if (reset) store.reset(target)
            return store.decide({ mode, target, costs: [cost], count: 1 })
          })
          expect(results[1]).toEqual(results[0])
        }
        for (const store of stores) store.close()
      }),
    )
  })

  const hostile = [
    '',
    '__proto__',
    'constructor',
    'toString',
    '\0',
    '\0\0',
    '\ud800',
    '\udfff',
    '\ufffd',
    'é',
    'e\u0301',
    'x'.repeat(2 ** 20),
    'x'.repeat(2 ** 20 + 1),
    `${'x'.repeat(2 ** 20)}y`,
    ...Array.from({ length: 500 }, (_, i) => `${'prefix'.repeat(10)}${i}`),
    ...Array.from({ length: 500 }, (_, i) => `${i}${'suffix'.repeat(10)}`),
    ...Array.from({ length: 500 }, (_, i) => 'a'.repeat(i + 1)),
    ...Array.from({ length: 500 }, (_, i) => String.fromCharCode(i + 0x3000)),
  ]

  test.each(['exact', 'fingerprint'] as const)('distinguish hostile keys (%s)', (keys) => {
    const store = memoryStore({ keys, clock: fakeClock() })
    const policySet = makePolicySet('p', [slidingLog({ limit: 3_000, window: '1h' })])
    const left = (key: string) => {
      const target = { policySet, key }
      const { policies } = store.decide({ mode: 'peek', target, costs: [1], count: 1 })
      return policies[0]?.remaining
    }
    hostile.forEach((key, i) => {
      store.decide({ mode: 'consume', target: { policySet, key }, costs: [i + 1], count: 1 })
    })
    hostile.forEach((key, i) => {
      expect(left(key)).toBe(3_000 - (i + 1))
    })
    store.reset({ policySet, key: '__proto__' })
    expect(left('__proto__')).toBe(3_000)
    store.close()
  })

  test.each(['exact', 'fingerprint'] as const)(
    'accept a refund by receipt after a reset is known (%s)',
    async (keys) => {
      const clock = fakeClock()
      const policy = fixedWindow({ limit: 5, window: '1h' })
      const limiter = new RateLimiter({ store: memoryStore({ keys, clock }), policy })
      const decision = await limiter.consume('k', { cost: 3 })
      clock.advance(1)
      await limiter.reset('k')
      await limiter.consume('k', { cost: 3 })
      await limiter.refund(decision)
      expect((await limiter.peek('k')).remaining).toBe(2)
    },
  )
})

test('what was charged before a reset is not refunded, even if a refund empties the key at that instant', async () => {
  const clock = fakeClock()
  const limiter = new RateLimiter({
    store: memoryStore({ clock }),
    policy: fixedWindow({ limit: 3, window: '1h' }),
  })
  const before = await limiter.consume('k')
  await limiter.reset('k')
  clock.advance(-5)
  await limiter.consume('k')
  await limiter.refund('k')
  clock.advance(5)
  await limiter.consume('k', { cost: 3 })
  await limiter.refund(before)
  expect((await limiter.peek('k')).remaining).toBe(0)
})

test('a memory store that is closed decides nothing, so that no limit starts again', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const limiter = new RateLimiter({ store, policy: fixedWindow({ limit: 1, window: '1h' }) })
  await limiter.consume('k')
  store.close()
  store.close()
  const closed = expect.objectContaining({
    name: 'StoreError',
    code: 'WEIR_STORE_FAILED',
    message: expect.stringContaining('closed'),
  })
  await expect(limiter.consume('k')).rejects.toEqual(closed)
  await expect(limiter.peek('k')).rejects.toEqual(closed)
  await expect(limiter.reset('k')).rejects.toEqual(closed)
})

test('only a memory store that is not closed has a timer, so Jest finds no leak in one that is', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const store = memoryStore()
  const limiter = new RateLimiter({ store, policy: fixedWindow({ limit: 1, window: '1h' }) })
  await limiter.consume('k')
  expect(vi.getTimerCount()).toBe(1)
  store.close()
  expect(vi.getTimerCount()).toBe(0)
})

describe('the options of a memory store', () => {
  test.each([0, -1, 1.5, 2 ** 24 + 1, Number.NaN, '5', null])(
    'have a whole number of keys, not %s',
    (maxKeys) => {
      expect(() => memoryStore({ maxKeys: maxKeys as number })).toThrow(
        expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
      )
    },
  )

  test.each(['', 'hash', 'EXACT', true, null, 1])(
    'have exact keys or fingerprints, not %s',
    (keys) => {
      expect(() => memoryStore({ keys: keys as 'exact' })).toThrow(
        expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
      )
    },
  )
})

describe('the tables of a memory store', () => {
  test('are shared by plans with one name, even after all their keys expired and the tables were dropped', () => {
    vi.useFakeTimers({ now: 1_800_000_000_000 })
    try {
      const store = memoryStore()
      const policySets = [1, 2, 3].map(() =>
        makePolicySet('api', [fixedWindow({ name: 'short', limit: 5, window: '1s' })]),
      )
      const [one, other, late] = policySets as [PolicySet, PolicySet, PolicySet]
      const take = (policySet: PolicySet) =>
        store.decide({ mode: 'consume', target: { policySet, key: 'k' }, costs: [2], count: 1 })
          .granted
      expect([take(one), take(other), take(one)]).toEqual([1, 1, 0])
      vi.advanceTimersByTime(10_000)
      expect(vi.getTimerCount()).toBe(0)
      expect([take(late), take(one), take(other)]).toEqual([1, 1, 0])
      store.close()
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('on a host whose clock is far ahead, limits hold, and a warning says so', () => {
  test.each(['2046-01-01', '2059-11-05', '2059-12-01', '2100-01-01'])('%s', (day) => {
    vi.useFakeTimers({ now: new Date(day) })
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    onTestFinished(() => {
      vi.useRealTimers()
      warn.mockRestore()
    })
    for (const { examples } of Object.values(algorithms)) {
      for (const { make, label } of examples) {
        const store = memoryStore()
        const limiter = new RateLimiter({ store, policy: make(3) })
        const passed = (): number => {
          let count = 0
          for (let i = 0; i < 9; i += 1) if ((limiter.decide('k') as Decision).allowed) count += 1
          return count
        }
        const first = passed()
        // In 2100 a bucket's units are rounded up.
        expect([label, first === 3 || (day > '2099' && first === 2)]).toEqual([label, true])
        vi.advanceTimersByTime(3)
        expect([label, passed() < 3]).toEqual([label, true])
        store.close?.()
      }
    }
    for (const [, options] of warn.mock.calls)
      expect(options).toMatchObject({ code: 'WEIR_UNLIKELY_TIME' })
  })
})
