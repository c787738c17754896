// The page computes what the kernels decide.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ALGORITHMS } from '../src/algorithms.js'
import { runsOf } from '../src/page/results.js'
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
    fc.assert(fc.property(settings, check), { numRuns: 20 })
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
})
