import { expect, test } from 'vitest'
import { fixedWindow, memoryStore, RateLimiter } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

test('a memory store reports its size, and counts keys that were forgotten too early', async () => {
  const clock = fakeClock()
  const store = memoryStore({ maxKeys: 100, clock })
  const limiter = new RateLimiter({ store, policy: fixedWindow({ limit: 5, window: '1m' }) })
  expect(store.stats()).toMatchObject({ kind: 'memory', nodes: [], events: {} })
  expect(store.stats().memory).toEqual({ keys: 0, bytes: 0, evictions: 0 })
  for (let i = 0; i < 100; i += 1) await limiter.consume(String(i))
  expect(store.stats().memory).toMatchObject({ keys: 100, evictions: 0 })
  expect(store.stats().memory?.bytes).toBeGreaterThan(100 * 16)
  for (let i = 100; i < 130; i += 1) await limiter.consume(String(i))
  expect(store.stats().memory).toMatchObject({ keys: 100, evictions: 30 })
  // Expired keys also make room, and nothing is lost by that.
  clock.advance('1d')
  for (let i = 130; i < 160; i += 1) await limiter.consume(String(i))
  expect(store.stats().memory?.evictions).toBe(30)
  store.close()
})
