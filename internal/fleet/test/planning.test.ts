// What the planning simulation promises: correct arithmetic, and a docs/scaling.md that shows its
// results.

import { expect, test } from 'vitest'
import { type Results, readDocument, readResult } from '../src/planning/files.js'
import type { Inputs } from '../src/planning/inputs.js'
import { PLAIN, type Workload } from '../src/planning/load.js'
import { pageWith, partsOfPages } from '../src/planning/page.js'
import { picturesOf } from '../src/planning/pictures.js'
import { type Stretch, simulate } from '../src/planning/simulate.js'
import { partsOf } from '../src/planning/statistics.js'

const inputs: Inputs = {
  on: { cores: 1, node: '', redis: '' },
  server: { wakeUs: 5, restedUs: 20, readUs: 6, callUs: 4, keyUs: 3, changeUs: 1 },
  client: { writeUs: 8, callUs: 6, keyUs: 2, decisionUs: 1 },
  wayUs: 100,
  memory: [],
}
/** The time to wake up, read, and run a call for a key that is written. */
const ALONE_US = 5 + 20 + 6 + 4 + 3 + 1

const plain: Workload = {
  ...PLAIN,
  processes: 1,
  perSecond: 200,
  keys: 1_000,
  limit: 1_000_000,
  windowMs: 60_000,
}
const stretch: Stretch = {
  masters: 1,
  wayUs: 100,
  comes: 'one by one',
  warmUpMs: 500,
  forMs: 5_000,
}

test('decisions one after another are a call each', async () => {
  // The rests between requests are long, those within one are short.
  const figures = await simulate({ ...plain, perSecond: 20, steps: 10 }, stretch, inputs)
  expect(figures.decisions).toBeGreaterThan(150)
  expect(figures.calls / figures.decisions).toBeCloseTo(1, 1)
})

test('32 decisions of one turn are one call, and those of one key are one key of it', async () => {
  const many = await simulate(
    { ...plain, perSecond: 50, atOnce: 32, keys: 1_000_000 },
    stretch,
    inputs,
  )
  const hot = await simulate({ ...plain, perSecond: 50, atOnce: 32, keys: 1 }, stretch, inputs)
  expect(many.calls / many.decisions).toBeCloseTo(1 / 32, 2)
  expect(hot.calls / hot.decisions).toBeCloseTo(1 / 32, 2)
  expect(many.busiest / hot.busiest).toBeGreaterThan(2)
})

test('a process that is nearly busy makes several decisions in one turn, which share a call', async () => {
  const busy = { ...plain, perSecond: 70_000, keys: 1_000_000 }
  const short = { ...stretch, warmUpMs: 20, forMs: 200 }
  const { calls, decisions, process } = await simulate(busy, short, inputs)
  expect(process).toBeGreaterThan(0.7)
  expect(calls / decisions).toBeLessThan(0.7)
})

test('Redis needs the rate times the service time', async () => {
  const { busiest, calls } = await simulate(plain, stretch, inputs)
  // Few calls come so soon after another that Redis has not rested.
  expect(busiest / ((calls * ALONE_US) / 1e6)).toBeGreaterThan(0.9)
  expect(busiest / ((calls * ALONE_US) / 1e6)).toBeLessThanOrEqual(1.001)
})

test('a lone decision takes the time to Redis and back, and the work of both sides', async () => {
  const { p50Us } = await simulate({ ...plain, perSecond: 50 }, stretch, inputs)
  const expectedUs = 2 * inputs.wayUs + ALONE_US + (8 + 6 + 2 + 1)
  expect(Math.abs(p50Us / expectedUs - 1)).toBeLessThan(0.1)
})

test('a Redis with more load than it can serve has no time left, and decisions wait', async () => {
  const many = { ...plain, processes: 50, perSecond: 200_000 }
  const { busiest, p99Us } = await simulate(many, { ...stretch, warmUpMs: 10, forMs: 40 }, inputs)
  expect(busiest).toBeGreaterThan(0.98)
  expect(busiest).toBeLessThanOrEqual(1.001)
  expect(p99Us).toBeGreaterThan(2_000)
})

test('no more than the limit is admitted in any window', async () => {
  const limited = { ...plain, processes: 4, perSecond: 4_000, keys: 10, limit: 50, windowMs: 1_000 }
  const { admitted } = await simulate(
    limited,
    { ...stretch, comes: 'in ticks', warmUpMs: 0 },
    inputs,
  )
  // One more window begins at the end of the stretch.
  expect(admitted).toBeLessThanOrEqual(10 * 50 * (6 / 5))
  expect(admitted).toBeGreaterThan(10 * 50 * 0.95)
})

test('keys of a Cluster are on all masters, and keys with few hash tags are on few', async () => {
  const many = { ...plain, perSecond: 2_000 }
  const own = await simulate(many, { ...stretch, masters: 6, forMs: 1_000 }, inputs)
  const tagged = { ...many, hashTags: 2 }
  const two = await simulate(tagged, { ...stretch, masters: 6, forMs: 1_000 }, inputs)
  expect(own.busiest / own.utilisation).toBeLessThan(1.3)
  expect(two.busiest / two.utilisation).toBeCloseTo(3, 0)
})

test('the same fleet costs the same in each run', async () => {
  const short = { ...stretch, forMs: 500 }
  expect(await simulate(plain, short, inputs)).toEqual(await simulate(plain, short, inputs))
})

test('the parts of a cost can be found from sums of them, and none is below 0', () => {
  const parts = [5, 0, 2.5]
  const counts = [
    [1, 1, 1],
    [1, 2, 4],
    [1, 1, 16],
    [2, 5, 3],
  ]
  const costs = counts.map((own) => own.reduce((sum, count, i) => sum + count * (parts[i] ?? 0), 0))
  const found = partsOf(counts.map((own, i) => ({ counts: own, cost: costs[i] as number })))
  found.forEach((part, i) => {
    expect(part).toBeCloseTo(parts[i] as number, 3)
    expect(part).toBeGreaterThanOrEqual(0)
  })
})

const results: Results = {
  inputs: readResult('inputs'),
  validated: readResult('validated'),
  plan: readResult('plan'),
}

test('docs/scaling.md, its notes and its pictures show the measured and simulated results', () => {
  const pages = Object.entries(partsOfPages(results))
  expect(pages).toHaveLength(2)
  for (const [path, parts] of pages)
    expect(pageWith(readDocument(path), parts), path).toBe(readDocument(path))
  for (const [name, picture] of picturesOf(results.plan)) expect(readDocument(name)).toBe(picture)
})

test('real fleets admit within 5 % and call within 10 % of the simulated ones', () => {
  const off = results.validated.map(({ load, processes, real, simulated }) => {
    const admitted = Math.abs(simulated.admitted / real.admitted - 1) <= 0.05
    const calls = Math.abs(simulated.calls / real.calls - 1) <= 0.1
    return { load, processes, admitted, calls, cores: real.cores < 0.7 }
  })
  expect(off.filter(({ admitted, calls, cores }) => !admitted || !calls || !cores)).toEqual([])
})
