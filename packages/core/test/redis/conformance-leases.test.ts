// The suite of storeConformance rarely leads to leases: its limits are small, and it peeks after
// each request. Here a process sends bursts, so most decisions come from leases, and each must be
// that of the memory store.

import { seedOf } from '@weir/testkit'
import { describe, expect, test } from 'vitest'
import type { RedisLike } from '../../src/entries/store.js'
import {
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  slidingCounter,
  slidingLog,
  slidingWindow,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { clusterClient, singleClient } from './clients.js'
import { stillStore } from './patient.js'

// A log gets its oldest units back, and not those of the lease, so afterwards it has younger ones
// than without leases: nothing expires within these walks. A bucket may lack one unit, which drains
// during a lease: leases.test.ts.
const policies: readonly Policy[] = [
  fixedWindow({ name: 'p', limit: 400, window: '10s' }),
  slidingCounter({ name: 'p', limit: 400, window: '10s' }),
  slidingLog({ name: 'p', limit: 400, window: '1h' }),
  slidingWindow({ name: 'p', limit: 400, window: '1h' }),
]
const STEPS = 120

interface Both {
  readonly leased: Decision
  readonly plain: Decision
}

describe.each([
  ['a single server', () => singleClient(), undefined],
  ['a Cluster, hash tags', () => clusterClient(), 16],
] as const)('on %s', (_, client: () => RedisLike, hashTags) => {
  test.each(policies)(
    'one process gets the same with leases as without: $algorithm',
    async (policy) => {
      const seed = seedOf(1)
      const { leases, differences } = await walk(client(), hashTags, policy, seed)
      expect(differences, `seed ${seed}`).toEqual([])
      expect(leases).toBeGreaterThan(500)
    },
  )
})

/**
 * Bursts, and now and then something else. Returns what differed in which step, and how many
 * decisions leases made.
 */
async function walk(client: RedisLike, hashTags: number | undefined, policy: Policy, seed: number) {
  const below = generator(seed)
  const clock = fakeClock()
  const leasing = { units: 50, holdMs: 1_000 }
  const store = stillStore(client, { clock, hashTags, denyCache: true, leases: leasing })
  const memory = memoryStore({ clock })
  const name = `l${seed}-${policy.algorithm}`
  const limiters = [store, memory].map(
    (each) => new RateLimiter({ name, store: each, policy, shared: true }),
  )
  const ask = async (call: (limiter: RateLimiter) => Promise<Decision>): Promise<Both> => {
    const [leased, plain] = await Promise.all(limiters.map(call))
    return { leased: leased as Decision, plain: plain as Decision }
  }
  const differences: string[] = []
  let leases = 0
  let isRefused = false
  const compare = (step: number, what: string, { leased, plain }: Both): void => {
    // A recent denial may come from memory, with less left.
    const same =
      leased.allowed === plain.allowed && (!plain.allowed || leased.remaining === plain.remaining)
    if (!same) differences.push(`${step} ${what}: ${leased.remaining}, not ${plain.remaining}`)
    if (leased.source === 'lease') leases += 1
    if (!leased.allowed) isRefused = true
  }
  for (let step = 0; step < STEPS; step += 1) {
    const given: Both[] = []
    for (let burst = below(60); burst > 0; burst -= 1) {
      const both = await ask((limiter) => limiter.consume('k'))
      compare(step, 'consume', both)
      given.push(both)
    }
    const together = await Promise.all(
      Array.from({ length: below(20) }, () => ask((limiter) => limiter.consume('k'))),
    )
    for (const both of together) compare(step, 'at once', both)
    const other = below(8)
    const cost = 1 + below(30)
    if (other === 0) compare(step, 'cost', await ask((limiter) => limiter.consume('k', { cost })))
    else if (other === 1)
      compare(step, 'penalty', await ask((limiter) => limiter.penalty('k', { cost })))
    else if (other === 2) for (const limiter of limiters) await limiter.reset('k')
    else if (other === 3) {
      const both = given[below(given.length)]
      if (both?.leased.allowed) await limiters[0]?.refund(both.leased)
      if (both?.plain.allowed) await limiters[1]?.refund(both.plain)
    }
    // A peek ends the lease; for leases that go on see leases.test.ts.
    compare(step, 'peek', await ask((limiter) => limiter.peek('k')))
    // A process that is refused a lease refuses for up to a second (docs/scaling.md).
    if (below(3) === 0) {
      clock.advance(below(3_000) + (isRefused ? 1_000 : 0))
      isRefused = false
    }
  }
  await store.close()
  return { leases, differences }
}

/** Whole numbers below a bound, by mulberry32 (Tommy Ettinger, public domain). */
function generator(seed: number): (bound: number) => number {
  let state = seed >>> 0
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound)
  }
}
