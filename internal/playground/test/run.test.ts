// The page computes what the kernels decide.

import { gcra, leakyBucket, type Policy, tokenBucket } from '@weir/core'
import { traces } from '@weir/core/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseTrace, type TraceStep } from '../../../packages/core/src/testing/trace.js'
import { ALGORITHMS } from '../src/algorithms.js'
import { runsOf } from '../src/page/results.js'
import { COLUMNS, runOf } from '../src/run.js'
import {
  DEFAULTS,
  RANGES,
  type Settings,
  TRAFFICS,
  WINDOW_NAMES,
  WINDOWS,
} from '../src/settings.js'
import { trafficOf } from '../src/traffic.js'
import { referenceOf } from './reference.js'

function check(settings: Settings): void {
  for (const { algorithm, run } of runsOf(settings)) {
    const { decisions, passed, refused, most } = referenceOf(algorithm, settings)
    const found = run.decisions.map(({ allowed, remaining }) => ({ allowed, remaining }))
    expect(found).toEqual(decisions)
    expect({ passed: run.passed, refused: run.refused, most: run.most.count }).toEqual({
      passed,
      refused,
      most,
    })
    expect(run.most.count).toBeLessThanOrEqual(algorithm.bound(settings))
  }
}

describe('all figures are those of the kernels', () => {
  test.each(TRAFFICS)('for the traffic %s', (traffic) => {
    for (const window of WINDOW_NAMES) check({ ...DEFAULTS, traffic, window })
  })

  test('and no bound is exceeded, with random settings', () => {
    const few = (most: number) => fc.integer({ min: 1, max: most })
    const settings: fc.Arbitrary<Settings> = fc.record({
      traffic: fc.constantFrom(...TRAFFICS),
      window: fc.constantFrom(...WINDOW_NAMES),
      rate: few(150),
      windows: few(RANGES.windows.most),
      seed: few(RANGES.seed.most),
      limit: few(130),
      burst: few(130),
    })
    fc.assert(fc.property(settings, check), { numRuns: 60 })
  })

  test('at the ends of all ranges', () => {
    const { rate, limit, burst } = RANGES
    for (const end of ['least', 'most'] as const) {
      const counts = { rate: rate[end], windows: 2, limit: limit[end], burst: burst[end] }
      for (const window of ['1s', '1h'] as const) check({ ...DEFAULTS, ...counts, window })
    }
  })
})

describe('the golden traces are reproduced', () => {
  /** A request of one unit, and its result in a trace. */
  interface Plain {
    readonly atMs: number
    readonly allowed: boolean
    readonly left: number
  }

  /** A section up to the first step that is more than a request, or under another policy. */
  function plainOf(steps: readonly TraceStep[]): Plain[] {
    const plain: Plain[] = []
    let lastMs = 0
    for (const { mode, cost, policySet, atMs, expected } of steps) {
      if (mode !== 'consume' || policySet !== steps[0]?.policySet || atMs < lastMs) break
      lastMs = atMs
      const [word, units] = expected.split(' ')
      const [allowed, left] = [word === 'yes', Number(units)]
      // Several units that pass are separate requests; a refused request changes nothing.
      if (allowed)
        for (let rest = cost - 1; rest >= 0; rest -= 1)
          plain.push({ atMs, allowed, left: left + rest })
      else if (cost === 1) plain.push({ atMs, allowed, left })
    }
    return plain
  }

  test.each([
    ['bucket', 15],
    ['fixed-window', 15],
    ['sliding-log', 40],
    ['sliding-counter', 15],
  ])('of %s, as far as they are requests', (kernel, least) => {
    const sections = new Map<number, TraceStep[]>()
    for (const step of parseTrace(traces[kernel] as string))
      sections.set(step.section, [...(sections.get(step.section) ?? []), step])
    let count = 0
    for (const steps of sections.values()) {
      const plain = plainOf(steps)
      count += plain.length
      const endMs = Math.max(COLUMNS, (plain.at(-1)?.atMs ?? 0) + 1)
      const arrivals = plain.map(({ atMs }) => ({ atMs, key: 0 }))
      const startMs = Date.UTC(2026, 0, 1)
      const policy = steps[0]?.policySet.policies[0] as never
      const run = runOf(policy, { arrivals, keys: ['u42'], startMs, endMs, edgesMs: [] }, 1_000)
      const found = run.decisions.map(({ allowed, remaining }, i) => {
        return { atMs: plain[i]?.atMs, allowed, left: remaining }
      })
      expect(found).toEqual(plain)
    }
    expect(count).toBeGreaterThanOrEqual(least)
  })
})

describe('the attacker', () => {
  const settings: Settings = { ...DEFAULTS, traffic: 'edges', rate: 50, limit: 20, burst: 20 }

  test.each(WINDOW_NAMES)('gets everything that the bounds allow, with windows of %s', (window) => {
    const found = runsOf({ ...settings, window }).map(({ algorithm, run }) => [
      algorithm.id,
      run.most.count,
    ])
    // A request that begins its own window is a window away from the first one of the next.
    const bounds = ALGORITHMS.map((algorithm) => [
      algorithm.id,
      algorithm.bound({ ...settings, window }) - (algorithm.id === 'fixed-window' ? 1 : 0),
    ])
    expect(found).toEqual(bounds)
  })
})

test('gcra and leakyBucket decide as the card of tokenBucket says', () => {
  const { limit, window, burst } = { ...DEFAULTS, burst: 7 }
  const bucket = tokenBucket({ capacity: burst, refill: limit, every: window })
  for (const traffic of TRAFFICS) {
    const requests = trafficOf({ ...DEFAULTS, traffic })
    const picture = (policy: Policy) => runOf(policy, requests, WINDOWS[window]).columns
    expect(picture(gcra({ limit, period: window, burst }))).toEqual(picture(bucket))
    expect(picture(leakyBucket({ capacity: burst, leak: limit, every: window }))).toEqual(
      picture(bucket),
    )
  }
})

describe('what is left', () => {
  test('is read without any effect', () => {
    for (const traffic of TRAFFICS) {
      for (const { algorithm, run } of runsOf({ ...DEFAULTS, traffic })) {
        expect(run.decisions.length).toBe(run.requests)
        const { decisions } = referenceOf(algorithm, { ...DEFAULTS, traffic })
        expect(run.decisions.map(({ remaining }) => remaining)).toEqual(
          decisions.map(({ remaining }) => remaining),
        )
      }
    }
  })

  test('is at most the capacity, and the whole capacity again after a pause', () => {
    const windowMs = WINDOWS[DEFAULTS.window]
    const busy = trafficOf({ ...DEFAULTS, traffic: 'steady', windows: 1 })
    for (const algorithm of ALGORITHMS) {
      const policy = algorithm.policy(DEFAULTS)
      const { columns } = runOf(policy, { ...busy, endMs: 4 * windowMs }, windowMs)
      const [left = []] = columns.left
      expect(Math.max(...left)).toBe(policy.limit)
      expect(Math.min(...left)).toBeLessThan(policy.limit / 4)
      expect(left.at(-1)).toBe(policy.limit)
    }
  })
})

describe('traffic', () => {
  test.each(TRAFFICS)('%s is the same for the same seed, in order, and within its time', (name) => {
    const settings = { ...DEFAULTS, traffic: name, windows: 10 }
    const { arrivals, keys, endMs } = trafficOf(settings)
    expect(trafficOf(settings)).toEqual(trafficOf(settings))
    expect(arrivals.length).toBeGreaterThan(settings.rate)
    arrivals.forEach(({ atMs, key }, i) => {
      expect(Number.isInteger(atMs)).toBe(true)
      expect(atMs).toBeGreaterThanOrEqual(arrivals[i - 1]?.atMs ?? 0)
      expect(atMs).toBeLessThan(endMs)
      expect(keys[key]).toBeDefined()
    })
    expect(endMs).toBe(10 * WINDOWS[settings.window])
  })

  test.each(['bursts', 'keys', 'poisson'] as const)('%s differs for another seed', (name) => {
    const settings = { ...DEFAULTS, traffic: name }
    expect(trafficOf(settings)).not.toEqual(trafficOf({ ...settings, seed: 2 }))
  })

  test.each(['steady', 'bursts', 'keys'] as const)('%s keeps to the rate', (name) => {
    const settings = { ...DEFAULTS, traffic: name, rate: 41, windows: 3 }
    expect(trafficOf(settings).arrivals.length).toBeGreaterThanOrEqual(41 * 3 - 3)
    expect(trafficOf(settings).arrivals.length).toBeLessThanOrEqual(41 * 3 + 3)
  })
})
