// Calls of a limiter act in the order in which they were made, without waiting for each other: each
// pair of methods, in memory and on Redis, compared with the same calls one after the other.

import { describe, expect, test } from 'vitest'
import {
  type Clock,
  type Decision,
  fixedWindow,
  lockout,
  memoryStore,
  RateLimiter,
  type Store,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { clusterClient, newName, singleClient, strictStore } from './clients.js'
import { stillStore } from './patient.js'

const POLICIES = {
  'a lock-out': lockout({ limit: 2, window: '1h', block: ['1m', '5m'], forget: '1d' }),
  'a fixed window': fixedWindow({ limit: 2, window: '1h' }),
}

/** @param earlier a decision made before */
type Call = (limiter: RateLimiter, key: string, earlier: Decision) => Promise<unknown>

const CALLS: Readonly<Record<string, Call>> = {
  consume: (limiter, key) => limiter.consume(key),
  decide: async (limiter, key) => limiter.decide(key),
  peek: (limiter, key) => limiter.peek(key),
  penalty: (limiter, key) => limiter.penalty(key),
  'refund of a key': (limiter, key) => limiter.refund(key),
  'refund of a decision': (limiter, _, earlier) => limiter.refund(earlier),
  settle: (limiter, _, earlier) => limiter.settle(earlier, 0),
  reset: (limiter, key) => limiter.reset(key),
}
const OF_BLOCKS: Readonly<Record<string, Call>> = {
  block: (limiter, key) => limiter.block(key, '10m'),
  unblock: (limiter, key) => limiter.unblock(key),
}

const STORES: Readonly<Record<string, (clock: Clock) => Store>> = {
  memory: (clock) => memoryStore({ clock }),
  // In a time that stands still: a beat of the store would load the script while a call that found
  // it missing is on its way back, and later calls would act first.
  'Redis, whose scripts were flushed': (clock) => stillStore(singleClient(), { clock }),
  'a Cluster': (clock) => strictStore(clusterClient(), { clock, denyCache: false }),
}

function shown({ allowed, reason, remaining, retryAfterMs, resetAfterMs }: Decision) {
  return { allowed, reason, remaining, retryAfterMs, resetAfterMs }
}

describe.each(Object.keys(STORES))('in %s', (place) => {
  describe.each(Object.keys(POLICIES) as (keyof typeof POLICIES)[])('under %s', (kind) => {
    const calls = kind === 'a lock-out' ? { ...CALLS, ...OF_BLOCKS } : CALLS
    const names = Object.keys(calls)

    async function answers(first: string, second: string, isInOneTurn: boolean) {
      const clock = fakeClock()
      const store = (STORES[place] as (clock: Clock) => Store)(clock)
      const limiter = new RateLimiter({ name: newName(), store, policy: POLICIES[kind] })
      const earlier = await limiter.consume('k')
      const all = [first, second, 'peek'].map((each) => calls[each] as Call)
      const told: unknown[] = []
      if (place.includes('flushed')) await singleClient().call('SCRIPT', 'FLUSH')
      if (isInOneTurn)
        told.push(...(await Promise.all(all.map((call) => call(limiter, 'k', earlier)))))
      else for (const call of all) told.push(await call(limiter, 'k', earlier))
      await store.close?.()
      return told.map((each) => each && shown(each as Decision))
    }

    test('each pair of calls of one turn acts as one after the other', async () => {
      const pairs = names.flatMap((first) => names.map((second) => [first, second] as const))
      for (const [first, second] of pairs) {
        const inTurn = await answers(first, second, true)
        expect(inTurn, `${first}, then ${second}`).toEqual(await answers(first, second, false))
      }
    })
  })
})
