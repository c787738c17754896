// A store that stays without Redis warns once, even if nobody listens to its events.
// test/layers/resilience/degraded.test.ts has outages that end.

import { freePort, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, type MockInstance, test, vi } from 'vitest'
import {
  fixedWindow,
  RateLimiter,
  type RedisStore,
  recommendedRedisOptions,
  redisStore,
} from '../../src/index.js'
import { DEGRADED_MS } from '../../src/layers/resilience/events.js'

const open: (() => unknown)[] = []
let warned: MockInstance
beforeEach(() => {
  warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  // Timers run as usual, and can also be advanced.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
})
afterEach(async () => {
  vi.useRealTimers()
  warned.mockRestore()
  for (const close of open.splice(0).reverse()) await close()
})

/** The texts of the warnings with this code. */
function warnings(): string[] {
  const calls = warned.mock.calls as [string, { code: string }][]
  return calls.filter(([, { code }]) => code === 'WEIR_STORE_DEGRADED').map(([text]) => text)
}

function limiterAt(port: number): { store: RedisStore; limiter: RateLimiter } {
  const client = new Redis(port, recommendedRedisOptions)
  client.on('error', () => {})
  const store = redisStore(client, { instances: 1 })
  open.push(
    () => client.disconnect(),
    () => store.close(),
  )
  const policy = fixedWindow({ limit: 1_000, window: '5m' })
  return { store, limiter: new RateLimiter({ name: 'degraded', store, policy }) }
}

async function until(
  state: string,
  { store, limiter }: ReturnType<typeof limiterAt>,
): Promise<void> {
  await waitUntil(`the breaker is ${state}`, async () => {
    await limiter.consume('k')
    return [...store.health().nodes].some((node) => node.state === state)
  })
}

test('without Redis for 10 s: a warning with the cause, and no other in the same outage', async () => {
  const at = limiterAt(await freePort())
  await until('open', at)
  vi.advanceTimersByTime(DEGRADED_MS - 2_000)
  expect(warnings()).toEqual([])
  vi.advanceTimersByTime(2_000)
  expect(warnings()).toEqual([
    expect.stringMatching(
      /^Redis \(node "redis"\) has decided nothing for 10 s: "the client is \w+"; .* whenUnavailable "local" \(see /,
    ),
  ])
  for (let i = 0; i < 20; i += 1) {
    await at.limiter.consume('k')
    vi.advanceTimersByTime(DEGRADED_MS)
  }
  expect(warnings()).toHaveLength(1)
})

test('a store that was closed causes no warning', async () => {
  const at = limiterAt(await freePort())
  await until('open', at)
  await at.store.close()
  vi.advanceTimersByTime(2 * DEGRADED_MS)
  expect(warnings()).toEqual([])
})
