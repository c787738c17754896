// The memory store as its users see it, with both kinds of keys.

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Decision, fixedWindow, memoryStore, RateLimiter } from '../../src/index.js'
import { makePolicySet } from '../../src/request.js'
import type { PolicySet } from '../../src/store.js'
import { algorithms } from '../../src/testing/algorithms.js'
import { fakeClock, storeConformance } from '../../src/testing/index.js'

describe('a memory store of fingerprints keeps the contract of a store', () => {
  const cases = storeConformance((clock) => memoryStore({ clock, keys: 'fingerprint' }))
  for (const { name, run } of cases) test(name, run)
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
