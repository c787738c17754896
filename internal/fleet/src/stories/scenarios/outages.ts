// Outages of several parts, each of which the options draw by itself: what happens to Redis, how
// much of its data it has afterwards, when each process comes back, which processes are stopped
// (SIGSTOP) or start meanwhile, and whether its clock steps. Scenarios leave some parts out.

import type { StoryOptions } from '../../fleet/choices.js'
import { type Fleet, SECOND_US } from '../../fleet/fleet.js'
import type { Member } from '../../fleet/member.js'
import {
  whenAllComeBack,
  whenASnapshotIsBack,
  whenBoth,
  whenSomeAreStopped,
} from '../../promises/story.js'
import { Keyspace } from '../../redis/keyspace.js'
import { consume } from '../../traffic/traffic.js'
import type { Scenario } from '../course.js'
import { unheardOf } from './replica.js'
import { everyoneIn, forWays, rush } from './steps.js'

/** The time before an outage, at the most: three intervals between heartbeats; more if the snapshot
 *  is older. */
const BEFORE_US = 9 * SECOND_US
const LONGEST_BEFORE_US = 15 * SECOND_US
/** How many requests of a process must fail until its breaker opens, and some more. */
const NOTICED = 8
/** How many requests each process makes soon after it is back. */
const ASKED = 6
/** How long processes ask much of a key. */
const RUSH_US = SECOND_US / 2
/** An interval between heartbeats, and a reply. What was written since the last beat of a process
 *  may be lost without its notice. */
const BEAT_US = 3.5 * SECOND_US

const AWAY = { least: 2, countsAll: false, isAway: true, goWrong: outage } as const
/** Something is left of the limits when the outage begins. */
const CALM = { demand: 0.4 }
const NO_STOPS = { stopMs: 0, newcomers: 0 }
/** Otherwise what processes have seen may not be restored, or is not known exactly. */
const ALL_IS_RESTORED: Partial<StoryOptions> = {
  ...{ kind: 'plain', shared: false, live: false, refund: 0, settle: 0, reset: 0 },
}

export const OUTAGE_SCENARIOS = {
  /** Redis keeps its data. */
  outage: {
    ...AWAY,
    hasNewcomers: true,
    options: { ...CALM, snapshotMs: 0 },
    bound: whenBoth(whenAllComeBack, whenSomeAreStopped),
  },

  /** Redis restarts with an older snapshot, or without its data. */
  'outage, older data': {
    ...AWAY,
    options: { ...CALM, ...NO_STOPS, ...ALL_IS_RESTORED, outage: 'down' },
    bound: whenBoth(whenAllComeBack, whenASnapshotIsBack),
  },

  'outage, all parts': {
    ...AWAY,
    hasNewcomers: true,
    options: CALM,
    bound: whenBoth(whenBoth(whenAllComeBack, whenSomeAreStopped), whenASnapshotIsBack),
  },
} satisfies Readonly<Record<string, Scenario>>

async function outage(fleet: Fleet, us: number): Promise<void> {
  const { world, options, machine } = fleet
  const { outage: kind, snapshotMs } = options
  const snapshotUs = kind === 'down' ? 1_000 * snapshotMs : 0
  // Nothing is as old as the story.
  const isEmpty = snapshotUs > LONGEST_BEFORE_US
  const drawnUs = world.random.whole(RUSH_US, BEFORE_US)
  const beforeUs = isEmpty ? drawnUs : Math.max(drawnUs, snapshotUs)
  let snapshot = new Keyspace(() => machine.redis.nowUs / 1_000)
  if (!isEmpty)
    world.after(beforeUs - snapshotUs, () => {
      snapshot = machine.redis.keyspace.copy()
    })
  const endSteps = keepStepping(fleet)
  startSome(fleet, beforeUs + us)
  const stoppedUntilUs = stopSome(fleet, beforeUs + us)
  const rushUs = Math.max(RUSH_US, isEmpty ? 0 : snapshotUs)
  await world.runFor(beforeUs - rushUs)
  rush(fleet, rushUs, 0, 0.2)
  await world.runFor(rushUs)

  const backUs = kind === 'none' ? [] : loseAll(fleet, us)
  const apartUs = Math.max(0, ...backUs.map((atUs) => atUs - world.nowUs - us))
  const end = BEGINNINGS[kind](fleet, us)
  if (snapshotUs > 0) goBackTo(fleet, snapshot, snapshotUs)
  rush(fleet, us, NOTICED, 0.5)
  await world.runFor(us)
  end()
  rush(fleet, apartUs + RUSH_US, ASKED, 0)
  if (snapshotUs > 0) askAgain(fleet, backUs)
  await world.runFor(Math.max(apartUs, stoppedUntilUs - world.nowUs))
  endSteps()
}

/** What begins each kind of outage. Each returns what ends it. */
const BEGINNINGS: Readonly<
  Record<StoryOptions['outage'], (fleet: Fleet, us: number) => () => void>
> = {
  down({ machine, members }) {
    machine.isDown = true
    for (const { connection } of members) connection.reset()
    machine.redis.forgetScripts()
    return () => {
      machine.isDown = false
    }
  },
  frozen({ machine }, us) {
    machine.freeze(us)
    return () => {}
  },
  full({ machine: { redis }, members }) {
    redis.isFull = true
    for (const member of members) member.failedInARow = 0
    return () => {
      redis.isFull = false
    }
  },
  none: () => () => {},
}

/** All processes lose Redis, and some cannot reach it for longer than others. Returns when each of
 *  them can. */
function loseAll(fleet: Fleet, us: number): number[] {
  const { world, members, options } = fleet
  for (const member of members)
    member.isCounted = member.isThereUs !== undefined && world.nowUs - member.isThereUs >= BEAT_US
  fleet.isAway = true
  fleet.lose(everyoneIn(fleet))
  const backUs = members.map(() => world.nowUs + us)
  for (const i of options.apartMs > 0 ? fleet.some(0.5) : []) {
    const longerUs = world.random.whole(1, 1_000 * options.apartMs)
    backUs[i] = world.nowUs + us + longerUs
    forWays(fleet, i, (way) => way.cut())
    world.after(us + longerUs, () => forWays(fleet, i, (way) => way.heal()))
  }
  return backUs
}

/** Each process asks for each key while its quota is a ceiling: what it has seen is restored before
 *  others are granted more than theirs. */
function askAgain(fleet: Fleet, backUs: readonly number[]): void {
  const { members, world, keys } = fleet
  members.forEach((member, i) => {
    for (const afterUs of [1.5 * SECOND_US, 3 * SECOND_US])
      for (const key of keys)
        member.host.run((backUs[i] ?? world.nowUs) - world.nowUs + afterUs, () =>
          consume(fleet, member, key),
        )
  })
}

/** Redis comes back with a snapshot that was taken `us` ago. */
function goBackTo(fleet: Fleet, snapshot: Keyspace, us: number): void {
  const { keyspace } = fleet.machine.redis
  // One that had told no beat is not sure of the loss: it restores no budget of estimates.
  const areSure = fleet.members.every(({ isCounted }) => isCounted)
  for (const counter of fleet.counters) {
    const isHeld = counter.policy.kernel?.traits.isHeld === true
    const units = unheardOf(fleet, keyspace, snapshot, counter)
    if (units === 0) continue
    fleet.lost(counter)
    counter.fallBehind(units, us < BEAT_US || (isHeld && !areSure))
  }
  fleet.slots?.forget()
  if (fleet.budgets !== undefined) fleet.budgets.haveLost = true
  keyspace.become(snapshot)
}

/** The processes that are not there yet start at some moment. */
function startSome(fleet: Fleet, us: number): void {
  const { world, members, options } = fleet
  for (let left = options.processes - members.length; left > 0; left -= 1) {
    // Those that start early enough are counted by then.
    const fromUs = world.random.whole(0, world.random.chance(0.5) ? SECOND_US : us)
    world.after(fromUs, () => {
      const { rank } = fleet.start(undefined, world.random.whole(0, 1_000 * options.lateMs))
      if (fleet.isAway) fleet.lose([rank])
    })
  }
}

/** Some processes are stopped at some moment. Returns when all go on again. */
function stopSome(fleet: Fleet, us: number): number {
  const { world, options } = fleet
  const { random } = world
  let untilUs = 0
  for (const i of options.stopMs > 0 ? fleet.some(0.4) : []) {
    const fromUs = random.whole(0, us)
    const forUs = random.whole(1, 1_000 * options.stopMs)
    untilUs = Math.max(untilUs, world.nowUs + fromUs + forUs)
    world.after(fromUs, () => fleet.stop(fleet.members[i] as Member, forUs))
  }
  return untilUs
}

/** The clock of Redis steps back and forward now and then. Returns what ends it. */
function keepStepping(fleet: Fleet): () => void {
  const { world, options, machine, live } = fleet
  const mostUs = 1_000 * options.stepMs
  const { aheadUs } = machine.redis
  let isOver = mostUs === 0 || live !== undefined
  const step = (): void => {
    if (isOver) return
    fleet.setClock(Math.max(0, aheadUs + world.random.whole(-mostUs, mostUs)))
    world.after(world.random.whole(10_000, SECOND_US), step)
  }
  step()
  return () => {
    isOver = true
  }
}
