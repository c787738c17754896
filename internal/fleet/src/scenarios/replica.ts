// One server: a replica takes over from it, and keys are evicted.

import type { Policy } from '../../../../packages/core/src/algorithms/policy.js'
import { policyOf } from '../choices.js'
import type { Fleet, Scenario } from '../fleet.js'
import type { KeyBook } from '../key-book.js'
import type { Machine } from '../network/machine.js'
import type { Keyspace } from '../redis/keyspace.js'
import { whenAllAreAway, whenAReplicaTakesOver, whenBoth, whenKeysAreLost } from '../story.js'
import { nowAndThen, restart } from './steps.js'

export type ReplicaScenarioName = 'replica' | 'evicts'

/** The longest lag. */
const LAG_US = 1_000_000

export const REPLICA_SCENARIOS: Readonly<Record<ReplicaScenarioName, Scenario>> = {
  /** Redis goes down, and a replica that lags takes its place, at the same address. */
  replica: {
    least: 2,
    bound: whenBoth(whenAllAreAway, whenAReplicaTakesOver),
    countsAll: false,
    async goWrong(fleet, us) {
      const { keyspace } = fleet.machine.redis
      const heard = await heardBy(fleet, fleet.machine)
      await restart(fleet, us, () => becomes(fleet, keyspace, heard, fleet.books))
    },
  },

  /** Redis evicts keys by chance. */
  evicts: {
    least: 2,
    bound: whenKeysAreLost,
    countsAll: false,
    goWrong: (fleet) => nowAndThen(fleet, () => evict(fleet)),
  },
}

/** What a replica has heard of when its master goes: the keys as they are, a lag later. */
export async function heardBy({ world }: Fleet, { redis }: Machine): Promise<Keyspace> {
  const heard = redis.keyspace.copy()
  await world.runFor(world.random.whole(0, LAG_US))
  return heard
}

/** A keyspace becomes what the replica has heard of.
 *  @param books keys that lie in it */
export function becomes(
  { options, world }: Fleet,
  keyspace: Keyspace,
  heard: Keyspace,
  books: readonly KeyBook[],
): void {
  const policy = policyOf(options)
  for (const book of books) {
    const [was, is] = [keyspace, heard].map((each) => usedIn(each, policy, book, world.nowUs))
    book.fallBehind(Math.max(0, (was as number) - (is as number)))
  }
  keyspace.become(heard)
}

/** The units in use of a key, as a keyspace has them. */
function usedIn(keyspace: Keyspace, { kernel, numbers }: Policy, book: KeyBook, nowUs: number) {
  const name = keyspace.keys().find((each) => book.isKey(each) && !isMark(each))
  if (name === undefined || kernel === undefined) return 0
  const scratch = kernel.prepare(numbers)
  keyspace.tableOf(kernel, 0).read(scratch, name, nowUs)
  return kernel.used(scratch)
}

const isMark = (name: string): boolean => name.endsWith(':mark')

/** Each key of each server is forgotten with some probability. */
export function evict({ servers, books, world: { random } }: Fleet): void {
  const share = random.pick([0.1, 0.5, 1])
  for (const { redis } of servers.machines) {
    for (const name of redis.keyspace.keys()) {
      if (!random.chance(share)) continue
      redis.keyspace.delete(name)
      if (!isMark(name)) for (const book of books) if (book.isKey(name)) book.forget()
    }
  }
}
