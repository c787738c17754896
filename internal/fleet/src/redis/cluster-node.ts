// A simulated server that is a node of a Cluster: it serves some of the slots, and refers calls for
// others to the node that it believes to serve them (getNodeByQuery in Redis's cluster.c).

import { SLOTS, slotOf } from '../../../../packages/core/src/redis/transport/hash-slot.js'
import { RefusedError } from './keyspace.js'
import { SimulatedRedis } from './server.js'

/** The reply to CLUSTER SLOTS: ranges of slots, each from the end of the one before up to `last`,
 *  with their masters. */
export type SlotRanges = readonly { readonly last: number; readonly master: string }[]

export class ClusterNode extends SimulatedRedis {
  readonly name: string
  /** Slots whose keys are being moved away, and the nodes that they go to. */
  readonly migrating: Map<number, string> = new Map()
  /** Slots whose keys are being moved here. */
  readonly importing: Set<number> = new Set()
  /** The owner of each slot, as far as this node knows. */
  readonly #owners: string[]
  /** The same as ranges, cached until it changes. */
  #ranges: SlotRanges | undefined = undefined

  constructor(name: string, now: () => number, owners: readonly string[]) {
    super(now)
    this.name = name
    this.#owners = [...owners]
  }

  ownerOf(slot: number): string {
    return this.#owners[slot] as string
  }

  setOwner(slot: number, name: string): void {
    if (this.#owners[slot] !== name) this.#ranges = undefined
    this.#owners[slot] = name
  }

  /** The slots that the node believes to own. */
  get slots(): number[] {
    return this.#owners.flatMap((owner, slot) => (owner === this.name ? slot : []))
  }

  override run(command: string, args: readonly string[], isAsking: boolean = false): unknown {
    if (command === 'cluster slots') return this.#slotRanges()
    if (command === 'cluster info') return 'cluster_state:ok'
    const keys = args.slice(2, 2 + Number(args[1] ?? 0))
    if (keys.length > 0) this.#check(keys, isAsking)
    return super.run(command, args)
  }

  #slotRanges(): SlotRanges {
    this.#ranges ??= this.#owners.flatMap((master, last) =>
      master === this.#owners[last + 1] ? [] : { last, master },
    )
    return this.#ranges
  }

  /** @throws {RefusedError} if the call is not for this node, or not at the moment */
  #check(keys: readonly string[], isAsking: boolean): void {
    const [slot = 0, ...others] = new Set(keys.map(slotOfKey))
    if (others.length > 0)
      throw new RefusedError("CROSSSLOT Keys in request don't hash to the same slot")
    const here = keys.filter((key) => this.keyspace.has(key)).length
    const isOwn = this.ownerOf(slot) === this.name
    const to = this.migrating.get(slot)
    if (isOwn && to !== undefined && here < keys.length)
      throw new RefusedError(here > 0 ? TRY_AGAIN : `ASK ${slot} ${to}`)
    if (isOwn) return
    if (!isAsking || !this.importing.has(slot))
      throw new RefusedError(`MOVED ${slot} ${this.ownerOf(slot)}`)
    if (keys.length > 1 && here < keys.length) throw new RefusedError(TRY_AGAIN)
  }
}

const TRY_AGAIN = 'TRYAGAIN Multiple keys request during rehashing of slot'

/** By hash tag, of which a story has few. */
const slots: Map<string, number> = new Map()

/** The slot of a key with a hash tag, which all of Weir's keys have. */
export function slotOfKey(key: string): number {
  const tag = key.slice(key.indexOf('{') + 1, key.indexOf('}'))
  const slot = slots.get(tag) ?? slotOf(tag)
  slots.set(tag, slot)
  return slot
}

/** Slots distributed evenly over masters, as by `startCluster` of the testkit. */
export function sharedSlots(masters: readonly string[]): string[] {
  const count = masters.length
  return Array.from({ length: SLOTS }, (_, slot) => {
    // The last master whose first slot is not beyond this one.
    return masters.findLast((_, i) => Math.floor((SLOTS * i) / count) <= slot) as string
  })
}
