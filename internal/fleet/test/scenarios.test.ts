// What the simulation promises: it can be repeated, it reaches the states in which things go wrong,
// and all bounds hold in the stories of a few seeds. `npm run fleet` runs any number of stories.

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
  readonly found: string
  readonly seed: number
  readonly scenario: ScenarioName
  readonly options: Partial<StoryOptions>
}

/** Stories that once broke a promise, as small as `pnpm fleet` made them. */
const FOUND: readonly FoundStory[] = [
  // The first request of a key after a live change came while the connection was away: what the
  // process had seen before the change is not taken into account, as docs/resilience.md says.
  {
    found: 'user-2, policy 0: 32 passed, 31 may',
    seed: 705391,
    scenario: 'blips',
    options: { limit: 31, keys: 3, demand: 3.97, mostAtOnce: 3, live: true, peek: 19 },
  },
  // ioredis followed a call as often as it may, to a replica that had just taken over and did not
  // know the script: its error did not begin with NOSCRIPT.
  {
    found: 'p0 decided user-1 without Redis, which is well',
    seed: 708886,
    scenario: 'cluster, hand-over',
    options: {
      limit: 135,
      keys: 2,
      demand: 3.59,
      mostAtOnce: 3,
      masters: 3,
      hashTags: 2,
      counted: true,
      live: true,
    },
  },
  // After Redis had lost a block, the attempt that began another one passed, though its process had
  // seen the first.
  {
    found: 'p1 let user-0 through, whose block it has seen',
    seed: 2107,
    scenario: 'cluster, replica',
    options: {
      processes: 3,
      limit: 16,
      denyCache: true,
      demand: 3.86,
      mostAtOnce: 6,
      masters: 3,
      penalty: 6,
      kind: 'guessers',
    },
  },
  // Calls for several keys of a moving slot opened the breaker of its master.
  {
    found: 'p0 decided user-1 without Redis, which is well',
    seed: 7420,
    scenario: 'cluster, resharding',
    options: { limit: 135, demand: 1.96, mostAtOnce: 5, masters: 3, hashTags: 8, policies: 3 },
  },
  // The formula ignored processes that do not notice an outage.
  {
    found: 'user-0: 12 admitted, 11 may be',
    seed: 3,
    scenario: 'restart',
    options: { limit: 10, demand: 2.16, faultMs: 1451 },
  },
  // A replica that took over had no ceiling.
  {
    found: 'user-0: 125 admitted, 124 may be',
    seed: 12,
    scenario: 'cluster, replica',
    options: { limit: 122, demand: 2.63, faultMs: 1934 },
  },
  // A request that took nothing of a policy hid that its counter was lost.
  {
    found: 'all, policy 1: 29 passed, 28 may',
    seed: 26643,
    scenario: 'restart, empty',
    options: { limit: 30, keys: 2, demand: 3.93, policies: 2, shared: true, batch: 1 },
  },
  // A request to a node that was being connected went to another node, which was frozen.
  {
    found: 'p1 decided user-2 without Redis, which is well',
    seed: 5075,
    scenario: 'cluster, frozen',
    options: { processes: 6, limit: 9, keys: 3, demand: 1.82, faultMs: 2367, hashTags: 2 },
  },
  // What could not be counted on a frozen node opened the breaker of the other one.
  {
    found: 'p1 decided user-3 without Redis, which is well',
    seed: 21182,
    scenario: 'cluster, frozen',
    options: {
      processes: 3,
      limit: 11,
      keys: 2,
      faultMs: 1654,
      hashTags: 2,
      policies: 3,
      shared: true,
      batch: 1,
      mostUnits: 2,
    },
  },
  // The bound ignored that a policy is decided locally if another one has used up the deadline.
  {
    found: 'all, policy 1: 7 passed, 6 may',
    seed: 429,
    scenario: 'cluster, frozen',
    options: { limit: 6, demand: 1.42, policies: 2, shared: true },
  },
  // The bound ignored that units which one slot denied are given back in another, as by a refund.
  {
    found: 'user-1, policy 0: 40 of 170 passed, and 132 remain',
    seed: 100690,
    scenario: 'cluster, evicts',
    options: { limit: 168, keys: 2, demand: 1.02, faults: 3, policies: 2, shared: true },
  },
  // Faults 4, 9 and 6 of sabotage.mjs.
  {
    found: 'user-0: 4 admitted, 3 may be',
    seed: 27,
    scenario: 'restart',
    options: { demand: 4.08, faultMs: 2098 },
  },
  {
    found: 'user-0: 4 admitted, 3 may be',
    seed: 22,
    scenario: 'forgets',
    options: { limit: 3, demand: 2.62, mostAtOnce: 2 },
  },
  {
    found: 'p1 took 199.06096821289066 ms to decide',
    seed: 2,
    scenario: 'frozen',
    options: { faultMs: 1284 },
  },
  // A lease that outlived a reset reported all its units as spent when the last one was.
  {
    found: 'user-1, policy 0: 1 of 179 passed, and 173 remain: more was charged',
    seed: 2734,
    scenario: 'cluster',
    options: {
      processes: 2,
      limit: 179,
      demand: 1,
      mostAtOnce: 4,
      reset: 1,
      holdMs: 804,
      kind: 'hot',
    },
  },
  // Nodes that referred a call to each other while its slot moved were taken for failing nodes.
  {
    found: 'p0 decided user-0 without Redis, which is well',
    seed: 7427,
    scenario: 'cluster, resharding',
    options: { limit: 68, demand: 1.96, mostAtOnce: 2, policies: 3 },
  },
  // What was seen under a lower limit does not show by how much that was exceeded.
  {
    found: 'user-1, policy 0: 106 passed, 105 may',
    seed: 25291,
    scenario: 'alone',
    options: { limit: 100, keys: 2, demand: 4.92, faults: 3, live: true },
  },
  // A block that was seen was not carried into an outage, since the ceiling had given back there
  // what the store denied.
  {
    found: 'p0 let user-3 through, whose block it has seen',
    seed: 203,
    scenario: 'cluster, there and back',
    options: { limit: 6, keys: 2, demand: 1.58, faultMs: 1409, kind: 'guessers' },
  },
  // The refund of the attempt that had begun a block did nothing if another one had lifted it.
  {
    found: 'user-1, policy 0: 9 of 10 passed, and 0 remain: more was charged',
    seed: 13,
    scenario: 'well',
    options: { limit: 10, keys: 2, demand: 2.66, settle: 6, kind: 'guessers' },
  },
  // A mark without a time kept the process that had seen nothing from setting the base.
  {
    found: 'user-1, policy 1: 388 of 432 passed, and 47 remain',
    seed: 10808,
    scenario: 'outage, older data',
    options: { limit: 341, keys: 2, policies: 2, weighted: 59, mostUnits: 43, snapshotMs: 29991 },
  },
  // A denial of a class, which says how much is left at the most, replaced what was seen exactly.
  {
    found: 'user-1, policy 0: 311 passed, 306 may',
    seed: 20055,
    scenario: 'outage, older data',
    options: {
      processes: 4,
      limit: 303,
      keys: 2,
      denyCache: true,
      mostAtOnce: 5,
      batch: 10,
      mostUnits: 9,
      slots: 4,
      slotMs: 1164,
      slotDemand: 2.74,
      stepMs: 88,
    },
  },
]

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
