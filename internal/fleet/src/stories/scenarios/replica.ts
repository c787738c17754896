// One server: a replica takes over from it, and keys are evicted. Requests are of all kinds.

import type { Counter } from '../../fleet/counter.js'
import type { Fleet } from '../../fleet/fleet.js'
import {
  whenAllAreAway,
  whenAReplicaTakesOver,
  whenBoth,
  whenKeysAreLost,
} from '../../promises/story.js'
import type { Keyspace } from '../../redis/keyspace.js'
import type { Machine } from '../../redis/machine.js'
import { AWAY, type Scenario } from '../course.js'
import { nowAndThen, restart } from './steps.js'

/** The longest lag. */
const LAG_US = 1_000_000

export const REPLICA_SCENARIOS = {
  /** Redis goes down, and a lagging replica takes its place, at the same address. */
  replica: {
    ...AWAY,
    bound: whenBoth(whenAllAreAway, whenAReplicaTakesOver),
    countsAll: false,
    async goWrong(fleet, us) {
      const { keyspace } = fleet.machine.redis
      const heard = await heardBy(fleet, fleet.machine)
      await restart(fleet, us, () => becomes(fleet, keyspace, heard, fleet.counters))
    },
  },

  /** Redis evicts random keys. */
  evicts: {
    least: 2,
    bound: whenKeysAreLost,
    countsAll: false,
    isAway: false,
    goWrong: (fleet) => nowAndThen(fleet, () => evict(fleet)),
  },
} satisfies Readonly<Record<string, Scenario>>

/** What a replica has received when its master goes down: the keys of this moment, a lag later. */
export async function heardBy({ world }: Fleet, { redis }: Machine): Promise<Keyspace> {
  const heard = redis.keyspace.copy()
  await world.runFor(world.random.whole(0, LAG_US))
  return heard
}

/** Replaces a keyspace by what the replica has received.
 *  @param counters those in the keyspace */
export function becomes(
  fleet: Fleet,
  keyspace: Keyspace,
  heard: Keyspace,
  counters: readonly Counter[],
): void {
  for (const counter of counters) counter.fallBehind(unheardOf(fleet, keyspace, heard, counter))
  fleet.slots?.forget()
  if (fleet.budgets !== undefined) fleet.budgets.haveLost = true
  keyspace.become(heard)
}

/** The units in use of a counter that an older copy of a keyspace does not have. */
export function unheardOf(
  { machine }: Fleet,
  keyspace: Keyspace,
  heard: Keyspace,
  counter: Counter,
): number {
  const { kernel, numbers } = counter.policy
  const holdUs = 1_000 * (kernel?.holdMs?.(numbers) ?? 0)
  // What an estimate was settled to is missing once the estimate has expired.
  const times = holdUs === 0 ? [0] : Array.from({ length: 62 }, (_, i) => (i * holdUs) / 60)
  const missing = times.map((afterUs) => {
    const nowUs = machine.redis.nowUs + afterUs
    return usedIn(keyspace, counter, nowUs) - usedIn(heard, counter, nowUs)
  })
  return Math.max(0, ...missing)
}

/** The units in use of a counter, according to a keyspace. */
function usedIn(keyspace: Keyspace, counter: Counter, nowUs: number): number {
  const { kernel, numbers } = counter.policy
  const name = keyspace.keys().find((each) => counter.isKey(each) && !isMark(each))
  if (name === undefined || kernel === undefined) return 0
  const scratch = kernel.prepare(numbers)
  keyspace.tableOf(kernel, 0).read(scratch, name, nowUs)
  return kernel.used(scratch)
}

const isMark = (name: string): boolean => name.endsWith(':mark')

/** Each server forgets each of its keys with some probability. */
export function evict(fleet: Fleet): void {
  const { servers, counters, world } = fleet
  const { random } = world
  const share = random.pick([0.1, 0.5, 1])
  for (const { redis } of servers.machines) {
    for (const name of redis.keyspace.keys()) {
      if (!random.chance(share)) continue
      redis.keyspace.delete(name)
      fleet.slots?.evict(name)
      if (isMark(name)) continue
      for (const counter of counters) if (counter.isKey(name)) fleet.lost(counter)
    }
  }
}
