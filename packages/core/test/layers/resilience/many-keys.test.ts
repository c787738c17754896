// `maxLocalKeys`: how many keys a process decides without the store, and remembers from before.

import { describe, expect, test } from 'vitest'
import { resilient } from '../../../src/entries/store.js'
import {
  budget,
  fixedWindow,
  type Policy,
  RateLimiter,
  redisStore,
  slidingWindow,
} from '../../../src/index.js'
import { Fallback } from '../../../src/layers/resilience/fallback.js'
import { LastSeen } from '../../../src/layers/resilience/last-seen.js'
import { Ledger } from '../../../src/layers/resilience/ledger.js'
import type { Peers } from '../../../src/layers/resilience/peers.js'
import { resilientIn } from '../../../src/layers/resilience/resilient.js'
import { makePolicySet, resultOf } from '../../../src/request.js'
import type { Store, Target } from '../../../src/store.js'
import { virtualTime } from '../../virtual-time.js'
import { consuming, memoryIn } from '../requests.js'

const away = new Error('away')
const hour = (limit: number): Policy => slidingWindow({ name: 'p', limit, window: '1h' })
/** The last of 20 processes. */
const LAST: Peers = { count: 20, rank: 19 }

function storeThatIsAway(): Store {
  return {
    decide() {
      throw away
    },
    reset() {},
  }
}

function keysOf(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `user-${i}`)
}

test('in an outage nobody is refused because of others: 15,000 users, a local quota of 1', async () => {
  const store = resilientIn(virtualTime(), storeThatIsAway(), {
    instances: { count: 20, rank: 19 },
  })
  const limiter = new RateLimiter({ name: 'many', store, policy: hour(20) })
  let refused = 0
  for (const key of keysOf(15_000)) if (!(await limiter.consume(key)).allowed) refused += 1
  expect(refused).toBe(0)
  expect((await limiter.consume('user-0')).allowed).toBe(false)
  await store.close()
})

describe('with a maxLocalKeys of 1,000', () => {
  // Keys that have something left make room for new ones.
  test.each([
    [40, 0],
    [20, 3_999],
  ])('with a limit of %i, of 5,000 keys %i share a counter that is exhausted', (limit, shared) => {
    const time = virtualTime()
    const when = { whenUnavailable: 'local', maxLocalKeys: 1_000 } as const
    const fallback = new Fallback({ clock: time, peers: () => LAST, time, ...when })
    const policySet = makePolicySet('many', [hour(limit)])
    const refused = keysOf(5_000).filter(
      (key) => fallback.decide(consuming(policySet, key), undefined, away, 1_000).granted === 0,
    )
    expect(refused).toHaveLength(shared)
  })

  test('the keys with the most units are counted in the store', async () => {
    const time = virtualTime()
    const ledger = new Ledger(time, 1_000)
    const policySet = makePolicySet('many', [hour(20)])
    const untilUs = [time.nowUs() + 3_600_000_000]
    const admit = (key: string, units: number): void => {
      const request = { ...consuming(policySet, key), costs: [units] }
      if (ledger.remember(request.target, 0, units) === undefined) return
      const result = resultOf(request, 1, time.nowUs(), [{ left: 0, waitMs: 0, resetUs: 1 }])
      ledger.decided(request, [0], { ...result, untilUs })
    }
    for (let i = 0; i < 5_000; i += 1) admit(`before-${i}`, 1)
    for (const key of keysOf(500)) admit(key, 7)
    for (let i = 0; i < 5_000; i += 1) admit(`after-${i}`, 1)
    expect(ledger.keys).toBe(1_000)
    const due = await ledger.due(
      () => true,
      async () => {},
    )
    const units = due.flat().map((each) => each.units)
    const heavy = units.filter((each) => each === 7).length
    // Once in a while, all keys that are looked at have equally many.
    expect(heavy).toBeGreaterThan(400)
    expect(units).toEqual([...new Array(heavy).fill(7), ...new Array(1_000 - heavy).fill(1)])
  })

  test('keys whose settlements are owed make no room', async () => {
    const time = virtualTime()
    const ledger = new Ledger(time, 1_000)
    const budgets = makePolicySet('many', [budget({ limit: 5_000, holdTimeout: '1m' })])
    const of = (key: string): Target => ({ policySet: budgets, key })
    const settle = { mode: 'settle', costs: [-1_000], count: 1, charged: [4_000] } as const
    ledger.owe({ ...settle, target: of('owed'), untilUs: [1], seenUs: 0 })
    for (let i = 0; i < 5_000; i += 1) {
      const request = { ...consuming(budgets, `made-up-${i}`), costs: [9] }
      if (ledger.remember(request.target, 0, 9) === undefined) continue
      const result = resultOf(request, 1, time.nowUs(), [{ left: 0, waitMs: 0, resetUs: 1 }])
      ledger.decided(request, [0], { ...result, untilUs: [time.nowUs() + 3_600_000_000] })
    }
    expect([ledger.keys, ledger.owedBy(of('owed')).length]).toEqual([1_000, 1])
  })

  test('units that no longer count make room before those that do', async () => {
    const time = virtualTime()
    const ledger = new Ledger(time, 1_000)
    const policySet = makePolicySet('many', [hour(20)])
    for (const [seconds, keys] of [
      [1, keysOf(1_000)],
      [3_600, keysOf(1_000).map((key) => `later-${key}`)],
    ] as const) {
      for (const key of keys) {
        const request = { ...consuming(policySet, key), costs: [seconds === 1 ? 7 : 1] }
        ledger.remember(request.target, 0, 1)
        const result = resultOf(request, 1, time.nowUs(), [{ left: 0, waitMs: 0, resetUs: 1 }])
        ledger.decided(request, [0], { ...result, untilUs: [time.nowUs() + seconds * 1e6] })
      }
      time.block(2_000)
    }
    const due = await ledger.due(
      () => true,
      async () => {},
    )
    expect(due.flat().length).toBe(1_000)
    expect(due.flat().every(({ target }) => target.key.startsWith('later-'))).toBe(true)
  })
})

describe('recovery works in steps', () => {
  const policySet = makePolicySet('many', [hour(20)])

  test('no turn looks at more than 2,000 of 50,000 keys, and none lists all of them', async () => {
    const time = virtualTime()
    const ledger = new Ledger(time, 50_000)
    keysOf(50_000).forEach((key, i) => {
      const admitted = ledger.remember({ policySet, key }, 0, 1)
      if (admitted !== undefined) admitted.units = 1 + (i % 16)
    })
    let looked = 0
    let most = 0
    const lists = await ledger.due(
      () => {
        looked += 1
        most = Math.max(most, looked)
        return true
      },
      async () => {
        looked = 0
      },
    )
    expect(most).toBe(2_000)
    // From 16 units, 8, 4, 2 and 1: those in one list differ by at most a factor of two.
    expect(lists.map(({ length }) => length)).toEqual([3_125, 25_000, 12_500, 6_250, 3_125])
  })

  test('no turn counts more than 100 of 2,000 keys in a store that answers synchronously', async () => {
    const time = virtualTime()
    const memory = memoryIn(time)
    const counted = new Set<string>()
    let isAway = true
    let inTurn = 0
    let most = 0
    const turns = {
      ...time,
      soon(action: () => void): void {
        time.soon(() => {
          inTurn = 0
          action()
        })
      },
    }
    const flaky: Store = {
      recovers: true,
      decide(request) {
        if (isAway) throw away
        if (request.mode === 'reconcile') {
          inTurn += 1
          most = Math.max(most, inTurn)
          counted.add(request.target.key)
        }
        return memory.decide(request)
      },
      reset() {},
    }
    const store = resilientIn(turns, flaky, {})
    const limiter = new RateLimiter({ name: 'many', store, policy: hour(20) })
    for (const key of keysOf(2_000)) await limiter.consume(key)
    isAway = false
    await time.advance(60_000)
    expect(store.health().localKeys).toBe(0)
    expect(counted.size).toBe(2_000)
    expect(most).toBe(100)
    await store.close()
  })
})

describe('what was last seen', () => {
  const policy = fixedWindow({ limit: 10, window: '1m' })
  const policySet = makePolicySet('seen', [policy])
  const START_US = 1_750_000_000_000_000

  function seenOf(maxKeys: number) {
    const seen = new LastSeen(1, maxKeys)
    return {
      note(key: string, left: number, atMs = 0): void {
        const nowUs = START_US + atMs * 1_000
        const readings = [{ left, waitMs: 0, resetUs: 60_000_000 }]
        seen.note(
          { policySet, key },
          resultOf(consuming(policySet, key), 1, nowUs, readings),
          'consume',
        )
      },
      known: (keys: readonly string[]) =>
        keys.filter((key) => seen.get({ policySet, key }) !== undefined),
    }
  }

  test('is known for 100,000 keys', () => {
    const { note, known } = seenOf(100_000)
    const keys = keysOf(100_000)
    for (const key of keys) note(key, 5)
    expect(known(keys).length).toBe(100_000)
  })

  test('takes no room when it is over', () => {
    const { note, known } = seenOf(1_000)
    const exhausted = keysOf(1_000)
    for (const key of exhausted) note(key, 0)
    for (let i = 0; i < 1_000; i += 1) note(`other-${i}`, 5, 61_000)
    expect(known(exhausted).length).toBeLessThan(20)
    expect(known(Array.from({ length: 1_000 }, (_, i) => `other-${i}`)).length).toBe(1_000)
  })
})

test.each([999, 10_000_001, 1_000.5, '5000', null])('maxLocalKeys of %s is refused', (bad) => {
  const options = { maxLocalKeys: bad as number }
  const refused = expect.objectContaining({ code: 'WEIR_INVALID_OPTION' })
  expect(() => resilient(memoryIn(virtualTime()), options)).toThrow(refused)
  expect(() => redisStore({} as never, options)).toThrow(refused)
})
