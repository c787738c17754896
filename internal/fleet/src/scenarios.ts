// What goes wrong in a story, and which bound holds then.

import { whenAllAreAway, whenBoth, whenKeysAreLost, whenSomeAreAway, whenWell } from './bounds.js'
import { Fleet, type Scenario, SECOND_US } from './fleet.js'
import type { Member } from './member.js'

export type ScenarioName =
  | 'well'
  | 'frozen'
  | 'restart'
  | 'restart, empty'
  | 'partition'
  | 'slow'
  | 'resets'
  | 'pauses'
  | 'crash'
  | 'leaves'
  | 'forgets'

const SCENARIOS: Readonly<Record<ScenarioName, Scenario>> = {
  /** Nothing goes wrong, but that Redis forgets its scripts now and then. */
  well: {
    least: 1,
    bound: whenWell,
    countsAll: true,
    goWrong: (fleet, us) => nowAndThen(fleet, us, () => fleet.machine.redis.forgetScripts()),
  },

  /** Redis is stopped, and goes on. */
  frozen: {
    least: 2,
    bound: whenAllAreAway,
    countsAll: true,
    async goWrong(fleet, us) {
      fleet.lose(everyoneIn(fleet))
      fleet.machine.freeze(us)
      await fleet.world.runFor(us)
    },
  },

  /** Redis ends and comes back with its data. */
  restart: {
    least: 2,
    bound: whenAllAreAway,
    countsAll: true,
    goWrong: (fleet, us) => restart(fleet, us),
  },

  /** Redis ends and comes back without its data. */
  'restart, empty': {
    least: 2,
    bound: whenBoth(whenAllAreAway, whenKeysAreLost),
    countsAll: false,
    async goWrong(fleet, us) {
      await restart(fleet, us, () => forget(fleet))
    },
  },

  /** Some processes cannot reach Redis. */
  partition: {
    least: 2,
    bound: whenSomeAreAway,
    countsAll: true,
    async goWrong(fleet, us) {
      const some = fleet.some(0.4)
      fleet.lose(some)
      for (const i of some) forWays(fleet, i, (way) => way.cut())
      await fleet.world.runFor(us)
      for (const i of some) forWays(fleet, i, (way) => way.heal())
    },
  },

  /** To some processes replies come later than the deadline. */
  slow: {
    least: 2,
    bound: whenSomeAreAway,
    countsAll: true,
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

  /** Connections break, with what is on them. */
  resets: {
    least: 2,
    bound: whenSomeAreAway,
    countsAll: true,
    goWrong: (fleet, us) =>
      nowAndThen(fleet, us, () => {
        const some = fleet.some(0.3)
        fleet.lose(some)
        for (const i of some) (fleet.members[i] as Member).connection.reset()
      }),
  },

  /** Processes are held up, longer than the deadline or not. */
  pauses: {
    least: 2,
    bound: whenSomeAreAway,
    countsAll: true,
    goWrong: (fleet, us) =>
      nowAndThen(fleet, us, () => {
        const forUs = fleet.world.random.whole(1_000, SECOND_US)
        const some = fleet.some(0.3)
        fleet.lose(some)
        for (const i of some) (fleet.members[i] as Member).host.pause(forUs)
      }),
  },

  /** Some processes cannot reach Redis, and one of these dies. */
  crash: {
    least: 2,
    bound: whenSomeAreAway,
    countsAll: false,
    async goWrong(fleet, us) {
      const some = fleet.some(0.4)
      fleet.lose(some)
      for (const i of some) forWays(fleet, i, (way) => way.cut())
      await fleet.world.runFor(us)
      const [first] = some
      if (first !== undefined && some.length < fleet.members.length)
        (fleet.members[first] as Member).host.die()
      for (const i of some) forWays(fleet, i, (way) => way.heal())
    },
  },

  /** Some processes cannot reach Redis, and one of these is shut down meanwhile. */
  leaves: {
    least: 2,
    bound: whenSomeAreAway,
    countsAll: false,
    async goWrong(fleet, us) {
      const some = fleet.some(0.4)
      fleet.lose(some)
      for (const i of some) forWays(fleet, i, (way) => way.cut())
      await fleet.world.runFor(us)
      const [first] = some
      if (first !== undefined && some.length < fleet.members.length)
        fleet.leave(fleet.members[first] as Member)
      await fleet.world.runFor(SECOND_US)
      for (const i of some) forWays(fleet, i, (way) => way.heal())
    },
  },

  /** Redis forgets all keys, once or twice. */
  forgets: {
    least: 2,
    bound: whenKeysAreLost,
    countsAll: false,
    async goWrong(fleet, us) {
      for (let times = fleet.world.random.whole(1, 2); times > 0; times -= 1) {
        forget(fleet)
        await fleet.world.runFor(us)
      }
    },
  },
}

export const SCENARIO_NAMES: readonly ScenarioName[] = Object.keys(SCENARIOS) as ScenarioName[]

export interface Outcome {
  readonly seed: number
  readonly scenario: ScenarioName
  readonly requests: number
  /** How many decisions were made by what. */
  readonly sources: Readonly<Record<string, number>>
  /** The most that was admitted of a key beyond its limit. */
  readonly over: number
  readonly hash: string
  /** What must not be; none: all promises held. */
  readonly broken: readonly string[]
  /** The last lines of the history. */
  readonly end: readonly string[]
}

/** Runs the story of a seed. Default: the seed says which. */
export async function runScenario(
  seed: number,
  scenario: ScenarioName = SCENARIO_NAMES[seed % SCENARIO_NAMES.length] as ScenarioName,
): Promise<Outcome> {
  const fleet = new Fleet(seed, SCENARIOS[scenario])
  await fleet.run()
  const { requests, sources, over, broken, world } = fleet
  const { hash, end } = world.history
  return { seed, scenario, requests, sources, over, hash, broken, end }
}

function everyoneIn({ members }: Fleet): number[] {
  return members.map((_, i) => i)
}

function forWays(
  { members }: Fleet,
  i: number,
  act: (way: Member['connection']['there']) => void,
): void {
  const { there, back } = (members[i] as Member).connection
  act(there)
  act(back)
}

/** For `us`, does something at moments that chance chooses. */
async function nowAndThen({ world }: Fleet, us: number, act: () => void): Promise<void> {
  for (let leftUs = us; leftUs > 0; ) {
    const pauseUs = world.random.whole(10_000, SECOND_US)
    act()
    await world.runFor(pauseUs)
    leftUs -= pauseUs
  }
}

/** Redis forgets all keys. */
function forget({ machine, books }: Fleet): void {
  machine.redis.keyspace.clear()
  for (const book of books) book.forget()
}

/** Redis ends, and with it all connections; it comes back after `us`. */
async function restart(fleet: Fleet, us: number, act: () => void = () => {}): Promise<void> {
  const { machine, members, world } = fleet
  fleet.lose(everyoneIn(fleet))
  machine.isDown = true
  for (const { connection } of members) connection.reset()
  machine.redis.forgetScripts()
  act()
  await world.runFor(us)
  machine.isDown = false
}
