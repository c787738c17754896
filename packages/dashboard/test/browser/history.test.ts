import { describe, expect, test } from 'vitest'
import { Durations, History, Rates } from '../../src/page/history.js'
import type { Past, StoreFrame, Totals } from '../../src/protocol.js'

const totals = (allowed: number, denied = 0): Totals => ({
  allowed,
  denied,
  shadow_denied: 0,
  error: 0,
})

describe('rates', () => {
  test('are differences of totals, for each second', () => {
    const rates = new Rates()
    rates.push(1_000, totals(10, 1))
    rates.push(3_000, totals(16, 2))
    expect(rates.now()).toEqual(totals(3, 0.5))
    expect(rates.recent()).toEqual(totals(6, 1))
  })

  test('are those of the last minute in sums, and of five minutes in the chart', () => {
    const rates = new Rates()
    for (let i = 0; i <= 400; i += 1) rates.push(i * 1_000, totals(i * 2))
    expect(rates.recent()).toEqual(totals(120))
    expect(rates.points.length).toBe(301)
    expect(rates.points[0]?.atMs).toBe(100_000)
  })

  test('are unknown across a break of the connection', () => {
    const rates = new Rates()
    rates.push(0, totals(0))
    rates.push(60_000, totals(600))
    expect(rates.now()).toBeUndefined()
    rates.push(61_000, totals(605))
    expect(rates.now()).toEqual(totals(5))
  })

  test('are unknown where a counter started again, and never below 0', () => {
    const rates = new Rates()
    rates.push(0, totals(100))
    rates.push(1_000, totals(3))
    expect(rates.now()).toBeUndefined()
    expect(rates.recent()).toEqual(totals(0))
    rates.push(2_000, totals(4))
    expect(rates.now()).toEqual(totals(1))
  })

  test('leave out frames that come soon after another, whose rates would be false dips and spikes', () => {
    const rates = new Rates()
    rates.push(0, totals(0))
    for (const [atMs, allowed] of [
      [1_000, 10],
      [1_000, 10],
      [1_080, 10],
      [1_499, 14],
      [2_000, 20],
      [2_600, 26],
      [3_000, 30],
      [4_000, 40],
    ] as const)
      rates.push(atMs, totals(allowed))
    expect(rates.points.map(({ rates }) => rates?.allowed)).toEqual([10, 10, 10, 10])
    expect(rates.recent()).toEqual(totals(40))
  })
})

test('what was seen before a viewer came fills the last minute', () => {
  const history = new History()
  const at = (second: number): Past => ({
    atMs: second * 1_000,
    limiters: [{ id: 'api', totals: totals(7 * second), degraded: second }],
    stores: [{ id: 'redis', nodes: [node([second, 0, 0])] }],
    guards: [{ id: 'requests', refused: second < 30 ? 0 : 5 }],
  })
  for (let second = 0; second < 70; second += 1) history.push(at(second))
  expect(history.recentMs).toBe(9_000)
  expect(history.ratesOf('api').now()).toEqual(totals(7))
  expect(history.ratesOf('api').recentDegraded()).toBe(60)
  expect(history.durationsOf('redis', 'a').quantile(0.5)).toBe(0.001)
  expect([history.refusedBy('requests'), history.refusedBy('other')]).toEqual([5, 0])
})

type Node = StoreFrame['nodes'][number]

function node(counts: readonly number[], timeout = 0): Node {
  const ok = counts.reduce((sum, each) => sum + each, 0)
  return {
    node: 'a',
    state: 'closed',
    inFlight: 0,
    calls: { ok, timeout, error: 0, notSent: 0 },
    durations: { bounds: [0.001, 0.01], counts },
  }
}

describe('durations of calls', () => {
  test('are those of the last minute', () => {
    const durations = new Durations()
    durations.push(0, node([0, 1_000, 0]))
    durations.push(1_000, node([90, 1_010, 0], 2))
    expect(durations.quantile(0.5)).toBe(0.001)
    expect(durations.quantile(0.99)).toBe(0.01)
    expect(durations.recent('timeout')).toBe(2)
    durations.push(61_000, node([90, 1_010, 5], 2))
    expect(durations.quantile(0.5)).toBe(Number.POSITIVE_INFINITY)
  })

  test('are all known ones while there is only one frame', () => {
    const durations = new Durations()
    durations.push(0, node([5, 0, 0]))
    expect(durations.quantile(0.5)).toBe(0.001)
  })

  test('are unknown without a call', () => {
    const durations = new Durations()
    expect(durations.quantile(0.5)).toBeUndefined()
    durations.push(0, node([5, 0, 0]))
    durations.push(1_000, node([5, 0, 0]))
    expect(durations.quantile(0.5)).toBeUndefined()
  })
})
