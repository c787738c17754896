// The most in any window is measured without the kernels: here the measure is compared with a count
// of each window, and the kernels with what they promise.

import {
  fixedWindow,
  gcra,
  leakyBucket,
  lockout,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type LogEntry, simulation } from '../src/index.js'
import { type Limiter, limitersOf } from '../src/limiters.js'
import { Counts, KeyTable } from '../src/run/key-table.js'
import { LimiterRun } from '../src/run/limiter-run.js'
import { MostInPeriod, MostInWindow } from '../src/run/most-in-window.js'
import { START_US } from './log-lines.js'

interface Passed {
  readonly key: number
  readonly units: number
  readonly at: number
}

const passed = fc.array(fc.record({ key: fc.nat(3), units: fc.nat(3), wait: fc.nat(8) }), {
  maxLength: 60,
})

function withTimes(list: readonly { key: number; units: number; wait: number }[]): Passed[] {
  let at = 0
  return list.map(({ key, units, wait }) => {
    at += wait
    return { key, units, at }
  })
}

/** Counts each window that begins with a request. */
function counted(list: readonly Passed[], span: number): number {
  const sums = list.map(({ key, at }) =>
    list
      .filter((other) => other.key === key && other.at >= at && other.at < at + span)
      .reduce((sum, { units }) => sum + units, 0),
  )
  return Math.max(0, ...sums)
}

test('it is the largest count of any window of any key', () => {
  fc.assert(
    fc.property(passed, fc.integer({ min: 1, max: 30 }), (some, span) => {
      const list = withTimes(some)
      const measure = new MostInWindow(span)
      for (const { key, units, at } of list) measure.pass(key, units, at)
      expect(measure.most?.units ?? 0).toBe(counted(list, span))
      expect(measure.leftOut).toBe(0)
    }),
    { numRuns: 1_000 },
  )
})

test('without room for all keys, it is never too large, and the number of omitted keys is reported', () => {
  let left = 0
  fc.assert(
    fc.property(passed, fc.integer({ min: 1, max: 30 }), (some, span) => {
      const list = withTimes(some)
      const measure = new MostInWindow(span, 4)
      for (const { key, units, at } of list) measure.pass(key, units, at)
      const most = measure.most?.units ?? 0
      expect(most).toBeLessThanOrEqual(counted(list, span))
      if (measure.leftOut === 0) expect(most).toBe(counted(list, span))
      else left += 1
    }),
    { numRuns: 1_000 },
  )
  // A ring begins with more places than four.
  expect(left).toBe(0)
})

test('with more requests in a window than there is room for, the busiest keys are still measured', () => {
  const measure = new MostInWindow(1e9, 1_024)
  for (let i = 0; i < 10_000; i += 1) measure.pass(i % 3 === 0 ? 0 : i, 1, i)
  expect(measure.leftOut).toBeGreaterThan(500)
  // Key 0 has a third of the requests, for which half of the room is enough at first.
  expect(measure.most).toMatchObject({ key: 0 })
  expect(measure.most?.units).toBeGreaterThan(500)
})

test('for a calendar period, it is the largest count of one', () => {
  const measure = new MostInPeriod((at) => Math.floor(at / 10) * 10)
  for (const at of [1, 8, 9, 10, 11, 19, 19, 30]) measure.pass(at % 2, 1, at)
  expect(measure.most).toEqual({ units: 3, key: 1, at: 19 })
})

const POLICIES: readonly Policy[] = [
  slidingLog({ limit: 4, window: 50 }),
  slidingWindow({ limit: 4, window: 50, parts: 2 }),
  slidingCounter({ limit: 4, window: 50 }),
  fixedWindow({ limit: 4, window: 50 }),
  fixedWindow({ limit: 4, window: 50, aligned: true }),
  tokenBucket({ capacity: 4, refill: 4, every: 50 }),
  gcra({ limit: 7, period: 50, burst: 3 }),
  leakyBucket({ capacity: 4, leak: 3, every: 50 }),
  lockout({ limit: 4, window: 50, block: [20, 60], forget: 100 }),
]

/** Steps in us: mostly forward, in bursts, sometimes back. */
const steps = fc.array(
  fc.record({
    us: fc.oneof(
      fc.constant(0),
      fc.nat(2_000),
      fc.nat(60_000),
      fc.integer({ min: -200_000, max: 0 }),
    ),
    cost: fc.nat(2),
  }),
  { minLength: 20, maxLength: 200 },
)

describe.each(POLICIES)('$name', (policy) => {
  test('passes no more than its bound in any window of any log', () => {
    let most = 0
    fc.assert(
      fc.property(steps, (some) => {
        const simulated = simulation({ policies: policy, key: () => 'all' })
        let timeUs = START_US + 1
        for (const { us, cost } of some) {
          timeUs += us
          const isOne = policy.algorithm === 'lockout'
          simulated.add({ timeUs, cost: isOne ? Math.min(1, cost) : cost } as LogEntry)
        }
        const [measured] = simulated.report().limiters[0]?.runs[0]?.policies ?? []
        const { units = 0, bound = 0 } = measured?.mostInWindow ?? {}
        most = Math.max(most, units)
        expect(units).toBeLessThanOrEqual(bound)
      }),
      { numRuns: 100 },
    )
    // The limit was reached, so the test means something.
    expect(most).toBeGreaterThanOrEqual(policy.limit)
  })
})

describe.each(POLICIES)('$name, when the clock goes back', (policy) => {
  test('passes no more than its bound in any window in which it does not', () => {
    fc.assert(
      fc.property(steps, (some) => {
        const keys = new KeyTable(1, 'a test')
        keys.numberOf('all')
        const [limiter] = limitersOf(policy) as [Limiter]
        const options = { limiter, keys, requests: new Counts(), maxKeys: 1, sample: 1, moveUs: 0 }
        const run = new LimiterRun({ ...options, times: 'logged' })
        let timeUs = START_US
        for (const { us, cost } of some) {
          timeUs += us
          run.decide(
            timeUs,
            0,
            policy.algorithm === 'lockout' ? Math.min(1, cost) : cost,
            undefined,
          )
        }
        const { units = 0, bound = 0 } = run.report().policies[0]?.mostInWindow ?? {}
        run.close()
        expect(units).toBeLessThanOrEqual(bound)
      }),
      { numRuns: 300 },
    )
  })
})

test.each([
  [fixedWindow({ limit: 4, window: '1s', aligned: true }), [0.999, 1.0], 8],
  [tokenBucket({ capacity: 4, refill: 4, every: '1s' }), [0, 0.25, 0.5, 0.75], 7],
  [slidingLog({ limit: 4, window: '1s' }), [0.999, 1.0], 4],
  [slidingCounter({ limit: 4, window: '1s' }), [0.999, 1.9], 7],
])('an attack on the edges of $name reaches its bound, and is measured', (policy, times, most) => {
  const simulated = simulation({ policies: policy, key: () => 'all' })
  for (const second of times)
    for (let i = 0; i < 4; i += 1)
      simulated.add({ timeUs: START_US + second * 1e6 + i } as LogEntry)
  const [measured] = simulated.report().limiters[0]?.runs[0]?.policies ?? []
  const { units, bound } = measured?.mostInWindow ?? {}
  expect([units, bound]).toEqual([policy.algorithm === 'sliding-counter' ? units : most, bound])
  expect(bound).toBe(most)
})
