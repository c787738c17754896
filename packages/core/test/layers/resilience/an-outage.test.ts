// The outage that docs/resilience.md shows.

import { expect, test } from 'vitest'
import { anOutage, DEADLINE_MS, FROZEN_FROM_MS, FROZEN_TO_MS, LIMIT } from './an-outage.js'

const { asked, states, probesAtMs } = await anOutage()
const passed = asked.filter(({ isAllowed }) => isAllowed)
/** More than some round trips. */
const late = asked.filter(({ tookMs }) => tookMs > 10)

test('no more than the limit passes, and what was in flight', () => {
  expect(passed.length).toBeGreaterThanOrEqual(LIMIT)
  expect(passed.length).toBeLessThanOrEqual(LIMIT + late.length)
})

test('requests wait for the deadline until the breaker is open, and no longer', () => {
  expect(late.length).toBeGreaterThan(0)
  expect(Math.max(...late.map(({ tookMs }) => tookMs))).toBeLessThanOrEqual(DEADLINE_MS + 1)
  expect(late.every(({ atMs }) => atMs < FROZEN_FROM_MS + 2_000)).toBe(true)
})

test('the breaker opens, is half-open for five seconds, and closes', () => {
  expect(states.map(({ state }) => state)).toEqual(['closed', 'open', 'half-open', 'closed'])
  const [, open, half, closed] = states.map(({ atMs }) => atMs) as [number, number, number, number]
  expect(open - FROZEN_FROM_MS).toBeLessThan(1_500)
  expect(half - FROZEN_TO_MS).toBeLessThan(1_500)
  expect(closed - half).toBeCloseTo(5_000)
})

test('the process decides by itself while the breaker is open', () => {
  const [, open] = states as [unknown, { atMs: number }]
  const inOutage = asked.filter(({ atMs }) => atMs > open.atMs + 300 && atMs < FROZEN_TO_MS)
  expect(inOutage.length).toBeGreaterThan(20)
  expect(inOutage.every(({ isDegraded, tookMs }) => isDegraded && tookMs === 0)).toBe(true)
  expect(probesAtMs.length).toBeGreaterThan(3)
})
