// The scenarios of the stories: what goes wrong in them, and the bound that holds for each.

import { type StoryOptions, smallestOptions } from '../fleet/choices.js'
import { Fleet, MOST_AHEAD_US, SECOND_US } from '../fleet/fleet.js'
import type { Member } from '../fleet/member.js'
import { whenAllAreAway, whenBoth, whenKeysAreLost, whenSomeAreAway } from '../promises/story.js'
import { AWAY, type Scenario, TOLD_US, tellStory, WELL } from './course.js'
import { ALONE_SCENARIOS } from './scenarios/alone.js'
import { CLUSTER_SCENARIOS } from './scenarios/cluster.js'
import { CROWD_SCENARIOS } from './scenarios/crowd.js'
import { OUTAGE_SCENARIOS } from './scenarios/outages.js'
import { REPLICA_SCENARIOS } from './scenarios/replica.js'
import { REPLY_SCENARIOS } from './scenarios/replies.js'
import { START_SCENARIOS } from './scenarios/starts.js'
import {
  everyoneIn,
  forWays,
  nowAndThen,
  partition,
  resets,
  restart,
  stepAroundRefunds,
} from './scenarios/steps.js'

const SCENARIOS = {
  /** Redis is well, and forgets its scripts now and then. */
  well: {
    ...WELL,
    isExact: true,
    losesNothing: true,
    goWrong: (fleet) => nowAndThen(fleet, () => fleet.machine.redis.forgetScripts()),
  },

  /** Redis freezes, and then continues. */
  frozen: {
    ...AWAY,
    bound: whenAllAreAway,
    async goWrong(fleet, us) {
      fleet.lose(everyoneIn(fleet))
      fleet.machine.freeze(us)
      await fleet.world.runFor(us)
    },
  },

  /** Redis restarts with its data. */
  restart: {
    ...AWAY,
    bound: whenAllAreAway,
    goWrong: (fleet, us) => restart(fleet, us),
  },

  /** Redis restarts without its data. */
  'restart, empty': {
    ...AWAY,
    bound: whenBoth(whenAllAreAway, whenKeysAreLost),
    countsAll: false,
    async goWrong(fleet, us) {
      await restart(fleet, us, () => fleet.forget())
    },
  },

  /** Some processes cannot reach Redis. */
  partition: {
    ...AWAY,
    bound: whenSomeAreAway,
    goWrong: (fleet, us) => partition(fleet, us),
  },

  /** Some processes get replies later than the deadline. */
  slow: {
    ...AWAY,
    bound: whenSomeAreAway,
    async goWrong(fleet, us) {
      const some = fleet.some(0.5)
      fleet.lose(some)
      const before = some.map((i) => (fleet.members[i] as Member).connection.there.latency)
      const slow = { leastUs: 40_000, mostUs: fleet.world.random.whole(60_000, 400_000) }
      for (const i of some) forWays(fleet, i, (way) => Object.assign(way, { latency: slow }))
      await fleet.world.runFor(us)
      some.forEach((i, at) => {
        forWays(fleet, i, (way) => Object.assign(way, { latency: before[at] }))
      })
    },
  },

  /** Connections break. */
  resets: {
    ...AWAY,
    bound: whenSomeAreAway,
    goWrong: resets,
  },

  /** Event loops are blocked, some for longer than the deadline. */
  pauses: {
    ...AWAY,
    bound: whenSomeAreAway,
    goWrong: (fleet) =>
      nowAndThen(fleet, () => {
        const forUs = fleet.world.random.whole(1_000, SECOND_US)
        const some = fleet.some(0.3)
        fleet.lose(some)
        for (const i of some) (fleet.members[i] as Member).host.pause(forUs)
      }),
  },

  /** Some processes cannot reach Redis, and one of them dies. */
  crash: {
    ...AWAY,
    bound: whenSomeAreAway,
    countsAll: false,
    goWrong: (fleet, us) => partition(fleet, us, (member) => fleet.crash(member)),
  },

  /** Some processes cannot reach Redis, and one of them shuts down. */
  leaves: {
    ...AWAY,
    bound: whenSomeAreAway,
    countsAll: false,
    goWrong: (fleet, us) => partition(fleet, us, (member) => fleet.leave(member)),
  },

  /** The clock of Redis is set forward and back, by less than a window, or only back. Limits do not
   *  change, since processes change over by this clock. */
  'clock steps': {
    ...WELL,
    options: { live: false },
    goWrong(fleet) {
      const { world, machine } = fleet
      const isOnlyBack = world.random.chance(0.5)
      return nowAndThen(fleet, () => {
        const mostUs = isOnlyBack ? machine.redis.aheadUs : MOST_AHEAD_US
        fleet.setClock(world.random.whole(0, mostUs))
      })
    },
  },

  /** The clock of Redis steps back by at most 100 ms around refunds, such as those that lift a
   *  block, and then forward again. What was given back stays so, and nothing is taken for lost. */
  'clock steps, refunds': {
    ...WELL,
    options: { kind: 'guessers', live: false },
    losesNothing: true,
    goWrong: (fleet) => nowAndThen(fleet, () => stepAroundRefunds(fleet)),
  },

  /** Redis forgets all keys. */
  forgets: {
    least: 2,
    bound: whenKeysAreLost,
    countsAll: false,
    isAway: false,
    goWrong: (fleet) => nowAndThen(fleet, () => fleet.forget()),
  },

  ...ALONE_SCENARIOS,
  ...REPLICA_SCENARIOS,
  ...REPLY_SCENARIOS,
  ...START_SCENARIOS,
  ...CROWD_SCENARIOS,
  ...OUTAGE_SCENARIOS,
  ...CLUSTER_SCENARIOS,
} satisfies Readonly<Record<string, Scenario>>

export type ScenarioName = keyof typeof SCENARIOS

export const SCENARIO_NAMES: readonly ScenarioName[] = Object.keys(SCENARIOS) as ScenarioName[]

const OUTAGES = SCENARIO_NAMES.filter((name) => name in OUTAGE_SCENARIOS)
const OTHERS = SCENARIO_NAMES.filter((name) => !OUTAGES.includes(name))

export interface Outcome {
  readonly seed: number
  readonly scenario: ScenarioName
  readonly options: StoryOptions
  readonly requests: number
  /** How often processes called each method. */
  readonly asked: Readonly<Record<string, number>>
  /** How many decisions each source made. */
  readonly sources: Readonly<Record<string, number>>
  /** The most that was admitted under a key beyond its limit. */
  readonly over: number
  /** The most that was in progress at once beyond a limit of slots. */
  readonly overSlots: number
  readonly hash: string
  /** The broken promises; empty if all promises held. */
  readonly broken: readonly string[]
  /** The last lines of the history. */
  readonly end: readonly string[]
  /** The lines up to the first broken promise. */
  readonly untilBroken: readonly string[]
}

/** The scenario of a seed. Every other one is an outage of several parts: these are small, and as
 *  many as their parts can be combined. */
export function scenarioOf(seed: number): ScenarioName {
  const some = seed % 2 === 0 ? OUTAGES : OTHERS
  return some[Math.floor(seed / 2) % some.length] as ScenarioName
}

/** The smallest story of a scenario. */
export function smallestOf(scenario: ScenarioName): StoryOptions {
  return smallestOptions(SCENARIOS[scenario].least)
}

/**
 * Runs the story of a seed.
 * @param scenario by default, the seed decides
 * @param given options that replace those of the seed
 */
export async function runScenario(
  seed: number,
  scenario: ScenarioName = scenarioOf(seed),
  given: Partial<StoryOptions> = {},
): Promise<Outcome> {
  const fleet = new Fleet(seed, SCENARIOS[scenario], TOLD_US, given)
  await tellStory(fleet, SCENARIOS[scenario].goWrong)
  const { options, requests, asked, sources, over, overSlots, broken, world } = fleet
  const { hash, end, untilBroken } = world.history
  const told = { options, requests, asked, sources, over, overSlots, broken }
  return { seed, scenario, ...told, hash, end, untilBroken }
}
