// A simulated Cluster: masters that share the slots, each with a replica that lags; slots that move
// from one master to another, key by key; and replicas that take over. What one node knows reaches
// the others later.

import type { World } from '../world/world.js'
import { ClusterNode, sharedSlots, slotOfKey } from './cluster-node.js'
import { Machine } from './machine.js'

/** The longest time until a node has heard of a change. */
export const GOSSIP_US = 200_000
/** The same where a master was replaced, of which the new one tells all nodes at once
 *  (`clusterBroadcastPong` in `clusterFailoverReplaceYourMaster` of Redis). */
const BROADCAST_US = 5_000

/** A machine that runs a node. */
export interface NodeMachine extends Machine {
  readonly redis: ClusterNode
}

/** The steps in which a slot moves. */
export interface Move {
  /** The keys that have not moved yet. */
  keys(): string[]
  moveKey(key: string): void
  targetOwns(): void
  othersHear(): void
}

export class SimulatedCluster {
  /** Masters first, then replicas: their roles at the start. */
  readonly machines: readonly NodeMachine[]
  readonly #world: World
  readonly #masters: number
  /** The latest owner of each slot, so that older news of it is ignored. */
  readonly #newest: Map<number, string> = new Map()

  constructor(world: World, masters: number) {
    this.#world = world
    this.#masters = masters
    const names = Array.from({ length: masters }, (_, i) => `node-${i}`)
    const owners = sharedSlots(names)
    this.machines = [...names, ...names.map((name) => `${name}-replica`)].map((name) => {
      const node = new ClusterNode(name, () => world.nowUs, owners)
      return new Machine(world, name, node) as NodeMachine
    })
  }

  get masters(): readonly NodeMachine[] {
    return this.machines.slice(0, this.#masters)
  }

  /** The replica of a master, or the master of a replica. */
  partnerOf(machine: NodeMachine): NodeMachine {
    const i = this.machines.indexOf(machine)
    const partner = i < this.#masters ? i + this.#masters : i - this.#masters
    return this.machines[partner] as NodeMachine
  }

  named(name: string): NodeMachine {
    return this.machines.find((machine) => machine.name === name) as NodeMachine
  }

  /** The node that serves a slot and knows it. */
  ownerOf(slot: number): NodeMachine {
    const isOwner = ({ name, redis }: NodeMachine): boolean => redis.ownerOf(slot) === name
    return this.machines.find(isOwner) as NodeMachine
  }

  /** Begins to move a slot that is in use, as `redis-cli --cluster reshard` does: from now on its
   *  keys may be at either end. */
  moving(slot: number, to: NodeMachine): Move {
    const from = this.ownerOf(slot)
    const [source, target] = [from.redis, to.redis]
    target.importing.add(slot)
    source.migrating.set(slot, to.name)
    return {
      keys: () => source.keyspace.keys().filter((key) => slotOfKey(key) === slot),
      moveKey: (key) => source.keyspace.moveTo(target.keyspace, key),
      targetOwns: () => {
        this.#newest.set(slot, to.name)
        target.setOwner(slot, to.name)
        target.importing.delete(slot)
      },
      othersHear: () => {
        source.setOwner(slot, to.name)
        source.migrating.delete(slot)
        this.#tell([slot], to.name, GOSSIP_US)
      },
    }
  }

  /** Moves a slot, with time between the steps. */
  async move(slot: number, to: NodeMachine, stepUs: () => number): Promise<void> {
    if (this.ownerOf(slot) === to) return
    const { keys, moveKey, targetOwns, othersHear } = this.moving(slot, to)
    await this.#world.runFor(stepUs())
    // Calls create keys at the target, never at the source.
    for (const key of keys()) {
      moveKey(key)
      await this.#world.runFor(stepUs())
    }
    // The new owner learns it first; otherwise the nodes would refer calls to each other.
    targetOwns()
    await this.#world.runFor(stepUs())
    othersHear()
  }

  /** A replica takes all slots of its master, with the keys that it has received. */
  takeOver(from: NodeMachine): NodeMachine {
    const to = this.partnerOf(from)
    const { slots } = from.redis
    // The old master hears of it as soon as it is back.
    for (const { redis } of [from, to]) for (const slot of slots) redis.setOwner(slot, to.name)
    this.#tell(slots, to.name, BROADCAST_US)
    return to
  }

  /** Tells the other nodes of a new owner. */
  #tell(slots: readonly number[], owner: string, mostUs: number): void {
    for (const slot of slots) this.#newest.set(slot, owner)
    for (const { redis } of this.machines) {
      this.#world.after(this.#world.random.whole(0, mostUs), () => {
        for (const slot of slots) if (this.#newest.get(slot) === owner) redis.setOwner(slot, owner)
      })
    }
  }
}
