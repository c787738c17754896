// @ts-check
// A minute of traffic, on a fake clock.
import { memoryStore, RateLimiter, slidingWindow } from '@weir/express'
import { afterEach, expect, test, vi } from 'vitest'
import { newTraffic } from '../src/traffic.js'

afterEach(() => void vi.useRealTimers())

/** The limits of the example, and their decisions by key. */
function limited() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  const startUs = Date.UTC(2026, 0, 1) * 1_000
  const clock = { nowUs: () => startUs + Math.round(performance.now() * 1_000) }
  const store = memoryStore({ clock })
  const policy = slidingWindow({ limit: 5, window: '10s' })
  const [hello, search] = ['hello', 'search'].map(
    (name) => new RateLimiter({ store, name, policy }),
  )
  if (!hello || !search) throw new Error('there are two')
  /** @type {Map<string, import('@weir/express').Decision[]>} */
  const decided = new Map()
  for (const limiter of [hello, search]) {
    const consume = limiter.consume.bind(limiter)
    vi.spyOn(limiter, 'consume').mockImplementation(async (key, options) => {
      const decision = await consume(key, options)
      const before = decided.get(`${key}`) ?? []
      decided.set(`${key}`, [...before, decision])
      return decision
    })
  }
  return { traffic: newTraffic({ hello, search }), decided, timers: vi.getTimerCount() }
}

test('no traffic runs before it is started, and it stops by itself after a minute', async () => {
  const { traffic, decided, timers } = limited()
  await vi.advanceTimersByTimeAsync(1_000)
  expect([vi.getTimerCount() - timers, decided.size]).toEqual([0, 0])
  traffic.start()
  traffic.start()
  expect([vi.getTimerCount() - timers, traffic.isRunning()]).toEqual([1, true])
  await vi.advanceTimersByTimeAsync(59_000)
  expect(traffic.isRunning()).toBe(true)
  await vi.advanceTimersByTimeAsync(1_100)
  expect([vi.getTimerCount() - timers, traffic.isRunning()]).toEqual([0, false])
})

test('thirty clients send requests: some are refused, and one stays just below its limit', async () => {
  const { traffic, decided } = limited()
  traffic.start()
  await vi.advanceTimersByTimeAsync(61_000)
  const all = [...decided.values()].flat()
  expect(decided.size).toBe(30)
  expect(traffic.made).toEqual({
    requests: all.length,
    refused: all.filter(({ allowed }) => !allowed).length,
  })
  expect(all.length).toBeLessThan(2_000)
  expect(decided.get('203.0.113.4')?.some(({ allowed }) => !allowed)).toBe(true)
  const near = decided.get('203.0.113.1') ?? []
  expect(near).toHaveLength(23)
  expect(near.every(({ allowed }) => allowed)).toBe(true)
  // Once traffic has begun, this client has one unit left each time, never none.
  expect(near.slice(3).map(({ remaining }) => remaining)).toEqual(Array(20).fill(1))
})

test('traffic that is stopped sends no more requests', async () => {
  const { traffic, decided } = limited()
  traffic.start()
  await vi.advanceTimersByTimeAsync(5_000)
  traffic.stop()
  const { requests } = traffic.made
  expect(requests).toBeGreaterThan(0)
  await vi.advanceTimersByTimeAsync(5_000)
  expect([...decided.values()].flat()).toHaveLength(requests)
})
