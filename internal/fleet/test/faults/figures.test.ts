import { describe, expect, test } from 'vitest'
import type { Sample, Stall } from '../../src/faults/client/protocol.js'
import {
  admissions,
  allowance,
  flaps,
  inFlightAt,
  intervalsIn,
  latencies,
  longestDenial,
  mostInAnyWindow,
  perWindow,
  quantile,
  shareOver,
  spread,
  starvation,
  timeToNormal,
} from '../../src/faults/figures.js'

function sample(at: number, changes: Partial<Sample> = {}): Sample {
  return { at, ms: 1, key: 'k', allowed: true, source: 'store', degraded: false, ...changes }
}

const state = (at: number, to: string): { at: number; state: string } => ({ at, state: to })

describe('mostInAnyWindow', () => {
  test.each<[string, number[], number]>([
    ['nothing', [], 0],
    ['one', [5], 1],
    ['a window is open at its end', [0, 100], 1],
    ['just inside', [0, 99], 2],
    ['across the edge of two windows', [90, 95, 99, 101, 105], 5],
    ['in any order', [300, 10, 20, 30, 310], 3],
  ])('%s', (_, times, most) => {
    expect(mostInAnyWindow(times, 100)).toBe(most)
  })
})

test('requests in flight when a loss showed were sent before the first answer after it', () => {
  const before = [sample(0, { ms: 4 }), sample(3, { ms: 4 }), sample(4, { ms: 9 })]
  const after = [sample(7, { ms: 9, degraded: true }), sample(7, { ms: 5 }), sample(12), sample(13)]
  expect(inFlightAt({ from: 5, to: 6 }, [...before, ...after])).toBe(4)
})

test('requests are admitted when they are answered', () => {
  expect(admissions([sample(10, { ms: 90 }), sample(20, { allowed: false })])).toEqual([100])
})

test('one limit may pass for each window that is touched', () => {
  expect(allowance(100, 2_000, 6_500)).toBe(400)
  expect(allowance(100, 2_000, 1_999)).toBe(100)
})

test('windows are identified by the ms in which they end', () => {
  const samples = [
    sample(1, { untilUs: 2_000_100 }),
    sample(2, { untilUs: 4_000_000 }),
    sample(3, { untilUs: 2_000_900 }),
    sample(4, { untilUs: 2_000_000, allowed: false }),
    sample(5),
  ]
  expect(perWindow(samples)).toEqual([2, 1])
})

test('quantiles', () => {
  const values = [...Array(100).keys()]
  expect(quantile(values, 0.5)).toBe(50)
  expect(quantile(values, 0.99)).toBe(99)
  expect(quantile([7], 0.99)).toBe(7)
  expect(quantile([], 0.5)).toBe(0)
})

test('shares', () => {
  expect(shareOver([1, 60, 50, 51], 50)).toBe(0.5)
  expect(shareOver([], 50)).toBe(0)
})

describe('latencies without the time in which the machine stood still', () => {
  const stall = (at: number, ms: number, ownMs: number): Stall => ({ at, ms, ownMs })

  test('a stall that is the machine\u2019s fault is taken off where it overlaps', () => {
    expect(latencies([sample(0, { ms: 100 })], [stall(20, 30, 0)])).toEqual([70])
    expect(latencies([sample(40, { ms: 100 })], [stall(20, 30, 0)])).toEqual([90])
    expect(latencies([sample(60, { ms: 100 })], [stall(20, 30, 0)])).toEqual([100])
  })

  test('what the process did itself stays in', () => {
    expect(starvation(stall(0, 30, 30))).toBe(0)
    expect(latencies([sample(0, { ms: 100 })], [stall(20, 30, 25)])).toEqual([95])
    expect(latencies([sample(0, { ms: 100 })], [stall(20, 30, 40)])).toEqual([100])
  })

  test('an answer that never came stays so', () => {
    const never = sample(0, { ms: Number.POSITIVE_INFINITY })
    expect(latencies([never], [stall(20, 30, 0)])).toEqual([Number.POSITIVE_INFINITY])
  })
})

describe('timeToNormal', () => {
  const bad = { degraded: true }
  const isNormal = ({ degraded }: Sample): boolean => !degraded
  const every100 = (from: number, to: number, changes: Partial<Sample> = {}): Sample[] => {
    return [...Array((to - from) / 100).keys()].map((i) => sample(from + 100 * i, changes))
  }

  test('is at once', () => {
    expect(timeToNormal(every100(0, 2_000), 0, isNormal)).toBe(0)
  })

  test('is the answer of the last bad request before a second of calm', () => {
    expect(timeToNormal([...every100(0, 500, bad), ...every100(500, 2_000)], 0, isNormal)).toBe(401)
  })

  test('ignores what came before, and a relapse after the calm', () => {
    const samples = [
      ...every100(0, 500, bad),
      ...every100(500, 2_000),
      ...every100(2_000, 2_200, bad),
    ]
    expect(timeToNormal(samples, 500, isNormal)).toBe(0)
  })

  test('is never if the calm is too short', () => {
    expect(timeToNormal([...every100(0, 500, bad), ...every100(500, 1_000)], 0, isNormal)).toBe(
      Number.POSITIVE_INFINITY,
    )
    expect(timeToNormal([], 0, isNormal)).toBe(Number.POSITIVE_INFINITY)
  })
})

test('the longest denial lasts from one admission to the next, or to the last request', () => {
  const denied = (at: number): Sample => sample(at, { allowed: false })
  expect(longestDenial([sample(0), denied(10), denied(40), sample(50), denied(60)])).toBe(50)
  expect(longestDenial([sample(0), denied(10), denied(400)])).toBe(400)
  expect(longestDenial([])).toBe(0)
})

test('flaps are openings after the first one', () => {
  expect(flaps([])).toBe(0)
  expect(
    flaps([state(0, 'closed'), state(1, 'open'), state(2, 'half-open'), state(3, 'closed')]),
  ).toBe(0)
  expect(flaps([state(1, 'open'), state(2, 'half-open'), state(3, 'open')])).toBe(1)
  expect(flaps([state(1, 'open'), state(2, 'closed'), state(3, 'open')])).toBe(1)
})

test('intervals in a state end with the next state, or with the run', () => {
  const transitions = [
    state(0, 'closed'),
    state(5, 'open'),
    state(8, 'half-open'),
    state(9, 'open'),
  ]
  expect(intervalsIn(transitions, ['open'], 20).map(({ from, to }) => [from, to])).toEqual([
    [5, 8],
    [9, 20],
  ])
})

test('spread', () => {
  expect(spread([])).toBe(0)
  expect(spread([5, 1, 9])).toBe(8)
})
