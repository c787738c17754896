// What the simulation promises of itself: it can be repeated, it gets where things go wrong, and
// all bounds hold in the stories of some seeds. `pnpm fleet` runs as many as one likes.

import { expect, test } from 'vitest'
import { type Outcome, runScenario, SCENARIO_NAMES, type ScenarioName } from '../src/scenarios.js'

const STORIES = 12

async function storiesOf(scenario: ScenarioName): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (let seed = 1; seed <= STORIES; seed += 1) outcomes.push(await runScenario(seed, scenario))
  return outcomes
}

test.each(SCENARIO_NAMES)('every promise holds when the story is: %s', async (scenario) => {
  const outcomes = await storiesOf(scenario)
  expect(outcomes.flatMap(({ seed, broken }) => broken.map((what) => ({ seed, what })))).toEqual([])
})

test('the same seed gives the same history, and another seed another one', async () => {
  const first = await runScenario(5)
  const again = await runScenario(5)
  expect(again).toEqual(first)
  expect((await runScenario(15)).hash).not.toBe(first.hash)
})

test('where Redis cannot be reached, processes decide without it, and only there', async () => {
  const away: ScenarioName[] = ['frozen', 'restart', 'restart, empty', 'partition', 'crash']
  for (const scenario of SCENARIO_NAMES) {
    const outcomes = await storiesOf(scenario)
    const local = outcomes.reduce((sum, { sources }) => sum + (sources.local ?? 0), 0)
    if (away.includes(scenario)) expect([scenario, local > 0]).toEqual([scenario, true])
    if (scenario === 'well' || scenario === 'forgets')
      expect([scenario, local]).toEqual([scenario, 0])
  }
})

test('limits are passed where the formulas say that they may be, so that the bounds are no idle ones', async () => {
  for (const scenario of ['restart, empty', 'partition', 'crash', 'forgets'] as const) {
    const over = (await storiesOf(scenario)).map((outcome) => outcome.over)
    expect([scenario, Math.max(...over) > 0]).toEqual([scenario, true])
  }
})
