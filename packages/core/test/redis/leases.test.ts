// Leases on Redis: a process gets the same with them as without, processes together never more, and
// what is not spent goes back. The conformance suite rarely leads to leases: its limits are small,
// and it peeks after each request.

import { seedOf } from '@weir/testkit'
import { describe, expect, test } from 'vitest'
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
import { fakeClock } from '../../src/testing/index.js'
import { randomFrom } from '../virtual-time.js'
import { newName, singleClient } from './clients.js'
import { redisStoreOf, stillStore } from './patient.js'
import { stepTime } from './step-time.js'

const client = singleClient()
const leases = { units: 50, holdMs: 1_000 }
const SEED = seedOf(1)

/** Processes that share a limit. */
function processesOf(count: number, policy: Policy | Policy[], denyCache = false) {
  const clock = fakeClock()
  const name = newName()
  const stores = Array.from({ length: count }, () =>
    stillStore(client, { clock, leases, denyCache }),
  )
  const limiters = stores.map((store) => new RateLimiter({ name, store, policy, shared: true }))
  const close = () => Promise.all(stores.map((store) => store.close()))
  return { clock, name, limiters: limiters as [RateLimiter, ...RateLimiter[]], close }
}

// A log gets its oldest units back, and not those of the lease, so afterwards it has younger ones
// than without leases: nothing expires within these walks. A bucket may lack one unit, which drains
// during a lease: layers/leases.test.ts.
test.each([
  fixedWindow({ name: 'p', limit: 400, window: '10s' }),
  slidingCounter({ name: 'p', limit: 400, window: '10s' }),
  slidingLog({ name: 'p', limit: 400, window: '1h' }),
  slidingWindow({ name: 'p', limit: 400, window: '1h' }),
])('one process gets the same with leases as without: $algorithm', async (policy) => {
  const random = randomFrom(SEED)
  const below = (bound: number) => Math.floor(random() * bound)
  const { clock, name, limiters, close } = processesOf(1, policy, true)
  const both = [...limiters, new RateLimiter({ name, store: memoryStore({ clock }), policy })]
  let leased = 0
  let isRefused = false
  const ask = async (what: string, call: (limiter: RateLimiter) => Promise<Decision>) => {
    const [one, plain] = (await Promise.all(both.map(call))) as [Decision, Decision]
    expect(one.allowed, what).toBe(plain.allowed)
    // A recent denial may come from memory, with less left.
    if (plain.allowed) expect(one.remaining, what).toBe(plain.remaining)
    if (plain.allowed && policy.algorithm === 'fixed-window')
      expect(one.resetTime, what).toEqual(plain.resetTime)
    if (one.source === 'lease') leased += 1
    if (!one.allowed) isRefused = true
    return [one, plain]
  }
  for (let step = 0; step < 60; step += 1) {
    const of = `seed ${SEED}, step ${step}`
    const given: Decision[][] = []
    for (let burst = below(60); burst > 0; burst -= 1)
      given.push(await ask(`${of}, consume`, (limiter) => limiter.consume('k')))
    const together = Array.from({ length: below(20) }, () =>
      ask(`${of}, at once`, (limiter) => limiter.consume('k')),
    )
    await Promise.all(together)
    const other = below(8)
    const cost = 1 + below(30)
    const receipts = given[below(given.length)]
    if (other === 0) await ask(`${of}, cost`, (limiter) => limiter.consume('k', { cost }))
    else if (other === 1) await ask(`${of}, penalty`, (limiter) => limiter.penalty('k', { cost }))
    else if (other === 2) for (const limiter of both) await limiter.reset('k')
    else if (other === 3 && receipts?.every(({ allowed }) => allowed))
      for (const [i, limiter] of both.entries()) await limiter.refund(receipts[i] as Decision)
    // A peek ends the lease.
    await ask(`${of}, peek`, (limiter) => limiter.peek('k'))
    // A process that is refused a lease refuses for up to a second (docs/scaling.md).
    if (below(3) === 0) {
      clock.advance(below(3_000) + (isRefused ? 1_000 : 0))
      isRefused = false
    }
  }
  await close()
  expect(leased).toBeGreaterThan(250)
})

describe('what is left goes back', () => {
  test('when the store is closed', async () => {
    const { limiters, close } = processesOf(1, slidingLog({ limit: 400, window: '10s' }))
    const [limiter] = limiters
    for (let i = 0; i < 20; i += 1) await limiter.consume('k')
    await close()
    const other = new RateLimiter({
      name: limiter.name,
      store: stillStore(client, { clock: fakeClock() }),
      policy: slidingLog({ limit: 400, window: '10s' }),
    })
    expect((await other.peek('k')).remaining).toBe(380)
  })

  test('when a lease ends by itself', async () => {
    const name = newName()
    const policy = slidingLog({ limit: 400, window: '1m' })
    const time = stepTime(() => client.ping())
    const [mine, theirs] = [{ units: 50, holdMs: 20 }, undefined].map((some) => {
      const store = redisStoreOf(time, client, { instances: 1, ...(some && { leases: some }) })
      return new RateLimiter({ name, store, policy, shared: true })
    }) as [RateLimiter, RateLimiter]
    await Promise.all(Array.from({ length: 40 }, () => mine.consume('k')))
    await mine.consume('k')
    await time.until('it is given back', async () => (await theirs.peek('k')).remaining === 359)
  })

  test('of several policies', async () => {
    const { limiters, close } = processesOf(1, [
      slidingLog({ name: 'minute', limit: 300, window: '1m' }),
      fixedWindow({ name: 'day', limit: 500, window: '1d' }),
    ])
    const [limiter] = limiters
    const sources = []
    for (let i = 0; i < 40; i += 1) sources.push((await limiter.consume('k')).source)
    expect(sources).toContain('lease')
    const { policies } = await limiter.peek('k')
    expect(policies.map(({ remaining }) => remaining)).toEqual([260, 460])
    await close()
  })
})

test.each([
  slidingLog({ limit: 15, window: '1m' }),
  slidingLog({ limit: 400, window: 249 }),
  fixedWindow({ limit: 400, window: 9 }),
  tokenBucket({ capacity: 400, refill: 400, every: 249 }),
])('a small limit or a short window is not leased: $name', async (policy) => {
  const { limiters, close } = processesOf(1, policy)
  for (let i = 0; i < 30; i += 1) expect((await limiters[0].consume('k')).source).toBe('store')
  await close()
})

test('bursts and pauses left a quarter of the limit unused', async () => {
  const clock = fakeClock()
  const store = stillStore(client, { clock, leases: { units: 100, holdMs: 50 } })
  const policy = slidingWindow({ name: 'p', limit: 500, window: '2s' })
  const limiter = new RateLimiter({ name: newName(), store, policy })
  let allowed = 0
  // 240 a second of 250.
  for (let burst = 0; burst < 80; burst += 1) {
    for (let i = 0; i < 18; i += 1) if ((await limiter.consume('k')).allowed) allowed += 1
    clock.advance(75)
  }
  await store.close()
  expect(allowed).toBeGreaterThan(0.9 * 80 * 18)
})
