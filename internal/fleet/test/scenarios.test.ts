// What the simulation promises: it can be repeated, it reaches the states in which things go wrong,
// and all bounds hold in the stories of a few seeds. `npm run fleet` runs any number of stories.

import { readFileSync } from 'node:fs'
import { beforeEach, expect, test, vi } from 'vitest'
import { OUTAGES, optionsOf, type StoryOptions } from '../src/fleet/choices.js'
import {
  type Outcome,
  runScenario,
  SCENARIO_NAMES,
  type ScenarioName,
  smallestOf,
} from '../src/stories/scenarios.js'

/** Small stories that between them exceed limits wherever a formula allows it. */
const SEEDS = [2, 3, 4, 8, 13]

interface FoundStory {
  readonly why?: string
  readonly found: string
  readonly seed: number
  readonly scenario: ScenarioName
  readonly options: Partial<StoryOptions>
}

/** Stories that once broke a promise, as small as `pnpm fleet` made them. */
const FOUND = readFileSync(new URL('found-stories.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as FoundStory)

beforeEach(() => {
  // The product warns of some things that stories do, such as algorithms that change.
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})

/** By scenario, since several tests look at the same stories. */
const told = new Map<ScenarioName, Promise<Outcome[]>>()

function storiesOf(scenario: ScenarioName): Promise<Outcome[]> {
  const stories = told.get(scenario) ?? tell(scenario)
  told.set(scenario, stories)
  return stories
}

async function tell(scenario: ScenarioName): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const seed of SEEDS) outcomes.push(await runScenario(seed, scenario))
  return outcomes
}

test.each(SCENARIO_NAMES)('every promise holds in the scenario: %s', async (scenario) => {
  const outcomes = await storiesOf(scenario)
  expect(outcomes.flatMap(({ seed, broken }) => broken.map((what) => ({ seed, what })))).toEqual([])
})

test.each(['deploy', 'deploy, another algorithm', 'starts'] as const)(
  '%s: bounds hold for lock-outs',
  async (scenario) => {
    for (const seed of SEEDS)
      expect((await runScenario(seed, scenario, { kind: 'guessers' })).broken).toEqual([])
  },
)

test('no more is in progress at once than there are slots, unless Redis is away or forgets', async () => {
  const mostOver = async (scenario: ScenarioName): Promise<number> => {
    const over: number[] = []
    for (const seed of SEEDS) {
      const { broken, overSlots } = await runScenario(seed, scenario, { slots: 6, slotDemand: 2 })
      expect([scenario, seed, broken]).toEqual([scenario, seed, []])
      over.push(overSlots)
    }
    return Math.max(...over)
  }
  for (const scenario of ['well', 'deploy', 'cluster', 'cluster, hand-over'] as const)
    expect([scenario, await mostOver(scenario)]).toEqual([scenario, 0])
  for (const scenario of ['restart', 'partition', 'forgets'] as const)
    expect([scenario, (await mostOver(scenario)) > 0]).toEqual([scenario, true])
})

test.each(FOUND.map((story) => [story.found, story] as const))(
  'the story that broke "%s" keeps its promises',
  async (_, { seed, scenario, options }) => {
    const given = { ...smallestOf(scenario), ...options }
    expect((await runScenario(seed, scenario, given)).broken).toEqual([])
  },
)

test('the same seed gives the same history, and another seed gives another one', async () => {
  const first = await runScenario(5)
  const again = await runScenario(5)
  expect(again).toEqual(first)
  expect((await runScenario(15)).hash).not.toBe(first.hash)
})

test('processes decide without Redis when they cannot reach it, and only then', async () => {
  const away: ScenarioName[] = [
    ...(['frozen', 'restart', 'restart, empty', 'partition', 'crash', 'replica'] as const),
    ...(['cluster, frozen', 'cluster, down', 'cluster, replica', 'cluster, partition'] as const),
    ...(['lost replies', 'rubbish', 'starts', 'crowd', 'outage'] as const),
  ]
  const there: ScenarioName[] = [
    ...(['well', 'forgets', 'evicts', 'cluster'] as const),
    ...(['cluster, hand-over', 'cluster, evicts'] as const),
    ...(['deploy', 'deploy, another algorithm'] as const),
  ]
  for (const scenario of SCENARIO_NAMES) {
    const outcomes = await storiesOf(scenario)
    const local = outcomes.reduce((sum, { sources }) => sum + (sources.local ?? 0), 0)
    if (away.includes(scenario)) expect([scenario, local > 0]).toEqual([scenario, true])
    if (there.includes(scenario)) expect([scenario, local]).toEqual([scenario, 0])
  }
})

test('processes call all methods of a limiter, and mostly consume', async () => {
  const all: Record<string, number> = {}
  for (let seed = 1; seed <= 8; seed += 1)
    for (const [what, times] of Object.entries((await runScenario(seed, 'restart')).asked))
      all[what] = (all[what] ?? 0) + times
  const { consume = 0, ...others } = all
  const names = ['peek', 'penalty', 'refund', 'reset', 'settle', 'upTo', 'wait']
  expect(Object.keys(others).sort()).toEqual(names)
  for (const times of Object.values(others)) expect(consume).toBeGreaterThan(times)
})

test('limits are exceeded where the formulas allow it, so the bounds are tested', async () => {
  const scenarios = [
    ...(['restart, empty', 'partition', 'crash', 'forgets', 'evicts', 'replica'] as const),
    ...(['cluster, replica', 'cluster, evicts', 'cluster, partition', 'starts', 'outage'] as const),
  ]
  for (const scenario of scenarios) {
    const over = (await storiesOf(scenario)).map((outcome) => outcome.over)
    expect([scenario, Math.max(...over) > 0]).toEqual([scenario, true])
  }
})

test('each part of an outage happens in some stories, and in others does not', () => {
  const drawn = Array.from({ length: 100 }, (_, seed) => optionsOf(seed, 2))
  expect([...new Set(drawn.map(({ outage }) => outage))].sort()).toEqual(OUTAGES)
  for (const part of [
    'snapshotMs',
    'apartMs',
    'stopMs',
    'newcomers',
    'lateMs',
    'stepMs',
  ] as const) {
    const without = drawn.filter((options) => options[part] === 0).length
    expect([part, without > 20 && without < 80]).toEqual([part, true])
  }
})
