// The leases that docs/scaling.md shows.

import { expect, test } from 'vitest'
import { END_MS, HOLD_MS, someLeases } from './some-leases.js'

const { calls, held, decisions } = await someLeases()

test('few decisions need a call, and fewer the longer the key is hot', () => {
  expect(decisions).toBeGreaterThan(END_MS - 10)
  expect(calls.length).toBeLessThan(30)
  const late = calls.filter(({ atMs }) => atMs > END_MS / 2)
  expect(late.length).toBeLessThanOrEqual((END_MS / 2 / HOLD_MS) * 2)
})

test('no more is handed out than was taken', () => {
  expect(Math.min(...held.map(({ units }) => units))).toBe(0)
})

test('a lease has about twice the units of the last one, up to what is soon spent', () => {
  const sizes = calls.map(({ units }) => units).filter((units) => units > 1)
  for (const [i, units] of sizes.slice(1).entries())
    expect(units).toBeLessThanOrEqual(2 * (sizes[i] as number) + 1)
  expect(Math.max(...sizes)).toBeLessThan(HOLD_MS)
})
