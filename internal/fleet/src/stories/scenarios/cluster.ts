// A Cluster: one of its shards fails, or slots move to another master while they are in use.
// Requests are of all kinds, and the bounds are those of a single server. But single requests may
// fail: those for keys of several slots of which one is lost, or for several keys of a slot that
// moves.

import { nameOfKey } from '../../../../../packages/core/src/base/key-name.js'
import { SLOTS, slotOf } from '../../../../../packages/core/src/redis/transport/hash-slot.js'
import {
  hashTagOf,
  keyFormat,
  spreadHashTags,
} from '../../../../../packages/core/src/redis/transport/keys.js'
import type { Counter } from '../../fleet/counter.js'
import type { Fleet } from '../../fleet/fleet.js'
import {
  whenAllAreAway,
  whenAReplicaTakesOver,
  whenBackWithoutCeiling,
  whenBoth,
  whenKeysAreLost,
  whenSomeAreAway,
} from '../../promises/story.js'
import type { NodeMachine, SimulatedCluster } from '../../redis/cluster.js'
import { AWAY, type Scenario, WELL } from '../course.js'
import { becomes, evict, heardBy } from './replica.js'
import { everyoneIn, nowAndThen, partition, resets } from './steps.js'

/** The longest time between two steps of a slot that moves. */
const STEP_US = 300_000
/** Longer than nodes stay half-open. */
const CALM_US = 6_000_000

/** Calls of any process may fail, since a node may be away. */
const ON_CLUSTER = { ...AWAY, isOnCluster: true } as const

export const CLUSTER_SCENARIOS = {
  /** The Cluster is well; its nodes forget their scripts now and then. */
  cluster: {
    ...ON_CLUSTER,
    ...WELL,
    isExact: true,
    losesNothing: true,
    goWrong: (fleet) =>
      nowAndThen(fleet, () => {
        fleet.world.random.pick(fleet.servers.machines).redis.forgetScripts()
      }),
  },

  /** Slots move to another master, key by key. Requests that need several keys at once are decided
   *  without Redis in the meantime. */
  'cluster, resharding': {
    ...ON_CLUSTER,
    least: 1,
    bound: whenSomeAreAway,
    goWrong: (fleet) => nowAndThen(fleet, () => reshard(fleet)),
  },

  /** A replica takes over from a master that hands all its data over. */
  'cluster, hand-over': {
    ...ON_CLUSTER,
    ...WELL,
    isExact: true,
    losesNothing: true,
    async goWrong(fleet, us) {
      const master = someMaster(fleet)
      const replica = clusterOf(fleet).takeOver(master)
      replica.redis.keyspace.become(master.redis.keyspace)
      await fleet.world.runFor(us)
    },
  },

  /** A shard freezes, and then continues. */
  'cluster, frozen': {
    ...ON_CLUSTER,
    bound: whenAllAreAway,
    async goWrong(fleet, us) {
      const master = someMaster(fleet)
      loseShard(fleet, master)
      master.freeze(us)
      await fleet.world.runFor(us)
    },
  },

  /** A shard is down, and then comes back with its data. */
  'cluster, down': {
    ...ON_CLUSTER,
    bound: whenAllAreAway,
    async goWrong(fleet, us) {
      const master = someMaster(fleet)
      goesDown(fleet, master)
      await fleet.world.runFor(us)
      master.isDown = false
    },
  },

  /** A shard goes down, and its lagging replica takes over. */
  'cluster, replica': {
    ...ON_CLUSTER,
    bound: whenBoth(whenAllAreAway, whenAReplicaTakesOver),
    countsAll: false,
    async goWrong(fleet, us) {
      const master = someMaster(fleet)
      const heard = await heardBy(fleet, master)
      goesDown(fleet, master)
      becomes(fleet, master.redis.keyspace, heard, countersOn(fleet, master))
      await fleet.world.runFor(us)
      const replica = clusterOf(fleet).takeOver(master)
      replica.redis.keyspace.become(master.redis.keyspace)
      await fleet.world.runFor(us)
      master.isDown = false
    },
  },

  /** A replica takes over, and later the old master takes over from it. */
  'cluster, there and back': {
    ...ON_CLUSTER,
    bound: whenBoth(whenAllAreAway, whenBackWithoutCeiling),
    async goWrong(fleet, us) {
      const replica = await fails(fleet, someMaster(fleet), us)
      await fleet.world.runFor(CALM_US)
      await fails(fleet, replica, us)
    },
  },

  /** Nodes evict random keys. */
  'cluster, evicts': {
    ...ON_CLUSTER,
    bound: whenKeysAreLost,
    countsAll: false,
    goWrong: (fleet) => nowAndThen(fleet, () => evict(fleet)),
  },

  /** Some processes cannot reach the Cluster. */
  'cluster, partition': {
    ...ON_CLUSTER,
    bound: whenSomeAreAway,
    goWrong: (fleet, us) => partition(fleet, us),
  },

  /** Connections to nodes break. */
  'cluster, resets': {
    ...ON_CLUSTER,
    bound: whenSomeAreAway,
    goWrong: resets,
  },
} satisfies Readonly<Record<string, Scenario>>

function clusterOf({ servers }: Fleet): SimulatedCluster {
  return servers.cluster as SimulatedCluster
}

/** The master of a key, or another one. */
function someMaster(fleet: Fleet): NodeMachine {
  const { counters, world } = fleet
  if (world.random.chance(0.1)) return world.random.pick(clusterOf(fleet).masters)
  return clusterOf(fleet).ownerOf(slotOfCounter(fleet, world.random.pick(counters)))
}

function countersOn(fleet: Fleet, master: NodeMachine): Counter[] {
  const cluster = clusterOf(fleet)
  return fleet.counters.filter((each) => cluster.ownerOf(slotOfCounter(fleet, each)) === master)
}

function slotOfCounter({ hashTags }: Fleet, { who }: Counter): number {
  const tags = hashTags === undefined ? undefined : spreadHashTags(hashTags)
  return slotOf(hashTagOf(keyFormat('weir', tags), nameOfKey(who)))
}

/** All processes lose the keys of a shard, and only those. */
function loseShard(fleet: Fleet, master: NodeMachine): void {
  lose(fleet, countersOn(fleet, master))
}

/** All processes lose some counters, and lose those beside them that are decided together with
 *  one. */
function lose(fleet: Fleet, lost: readonly Counter[]): void {
  const { keys, world, slots, budgets } = fleet
  slots?.lose(everyoneIn(fleet), () => false)
  for (const counter of lost) counter.lose(everyoneIn(fleet), world.nowUs)
  const decisions = [
    ...keys.map((key) => fleet.countersOf(key)),
    ...(budgets?.ofKey.values() ?? []),
  ]
  const together = decisions.filter((all) => all.some((each) => lost.includes(each)))
  const beside = new Set(together.flat().filter((each) => !lost.includes(each)))
  for (const counter of beside) counter.loseBeside(everyoneIn(fleet), world.nowUs)
}

/** A shard goes down, with all connections to it. */
function goesDown(fleet: Fleet, master: NodeMachine): void {
  loseShard(fleet, master)
  master.isDown = true
  master.redis.forgetScripts()
  for (const { connection } of fleet.members) connection.reset(master.name)
}

/** A shard is down until its other node, which has all the data, takes over. */
async function fails(fleet: Fleet, master: NodeMachine, us: number): Promise<NodeMachine> {
  goesDown(fleet, master)
  await fleet.world.runFor(us)
  const other = clusterOf(fleet).takeOver(master)
  other.redis.keyspace.become(master.redis.keyspace)
  await fleet.world.runFor(us)
  master.isDown = false
  return other
}

/** Moves the slot of a key, or a slot that may have no keys. */
async function reshard(fleet: Fleet): Promise<void> {
  const { counters, world } = fleet
  const { random } = world
  const cluster = clusterOf(fleet)
  const slot = random.chance(0.8)
    ? slotOfCounter(fleet, random.pick(counters))
    : random.whole(0, SLOTS - 1)
  const stepUs = random.whole(0, STEP_US)
  const to = random.pick(cluster.masters)
  // Redis refuses a call for several keys while one of them has moved and another has not. Several
  // refusals open the breaker of the master, and its other keys are decided without it as well.
  if (needsSeveralKeys(fleet))
    for (const master of new Set([cluster.ownerOf(slot), to])) loseShard(fleet, master)
  await cluster.move(slot, to, () => random.whole(0, stepUs))
}

/** Whether requests need several keys of Redis at once: those of several policies, or a counter and
 *  its mark. */
function needsSeveralKeys({ options, slots, budgets, plan: { policies, leases } }: Fleet): boolean {
  const { refund, settle, reset, wait } = options
  if (slots !== undefined || budgets !== undefined) return true
  return policies.length > 1 || leases !== undefined || refund + settle + reset + wait > 0
}
