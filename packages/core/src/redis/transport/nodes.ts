// The Redis nodes behind a client (one, or the masters of a Cluster), and which keys lie on them.

import { Calls } from '../../base/calls.js'
import type { BackendNode } from '../../layers/resilience/backend.js'
import type { Target } from '../../store.js'
import type { Connection } from '../connection.js'
import { SLOTS, slotOf } from './hash-slot.js'
import { hashTagOf, type KeyFormat } from './keys.js'

export interface RedisNode extends BackendNode {
  inFlight: number
  readonly calls: Calls
  /** The last call to it had one request. */
  wasLone: boolean
}

/** Name of the node that stands for slots whose node the client does not know. */
const UNKNOWN = 'unknown'
/** How many tags are tried to find one whose keys lie on a node: enough for a node with about ten
 *  slots. */
const TRIES = 10_000

export class Nodes {
  readonly #connection: Pick<Connection, 'isCluster' | 'nodeOf'>
  readonly #format: KeyFormat
  readonly #nodes: Map<string, RedisNode> = new Map()
  /** The only one, where there is no Cluster. */
  readonly #only: RedisNode | undefined
  #lastTag = ''
  #lastSlot = 0

  constructor(connection: Pick<Connection, 'isCluster' | 'nodeOf'>, format: KeyFormat) {
    this.#connection = connection
    this.#format = format
    this.#only = connection.isCluster ? undefined : this.#named('redis')
  }

  /** The nodes that the client knows; before it knows any, the one that stands for them. */
  get all(): readonly RedisNode[] {
    // Asking for a slot makes its master known, though no key has led there yet.
    for (let slot = 0; slot < this.slots; slot += 1) this.ofSlot(slot)
    const all = [...this.#nodes.values()]
    const known = all.filter(({ name }) => name !== UNKNOWN)
    return known.length > 0 ? known : all
  }

  /** How many slots there are; one where there is no Cluster. */
  get slots(): number {
    return this.#only === undefined ? SLOTS : 1
  }

  /** The slot of a target's first key; 0 where there is no Cluster. */
  slotOf({ key, policyKeys }: Target): number {
    return this.slotOfTag(policyKeys?.[0]?.tag ?? key)
  }

  slotOfTag(tag: string): number {
    if (this.#only !== undefined) return 0
    // Remembered, because several layers ask about one request.
    if (tag !== this.#lastTag) {
      this.#lastSlot = slotOf(hashTagOf(this.#format, tag))
      this.#lastTag = tag
    }
    return this.#lastSlot
  }

  /** The slots of a target's keys, in the order of its policies. */
  slotsOf({ policySet, key, policyKeys }: Target): number[] {
    return policySet.policies.map((_, i) => this.slotOfTag(policyKeys?.[i]?.tag ?? key))
  }

  /** The node that serves a slot, as far as the client knows. */
  ofSlot(slot: number): RedisNode {
    return this.#only ?? this.#named(this.#connection.nodeOf(slot) ?? UNKNOWN)
  }

  /** Whether the node of a slot is idle, and its next request likely to come alone. */
  isIdle(slot: number): boolean {
    const { inFlight, wasLone } = this.ofSlot(slot)
    return inFlight === 0 && wasLone
  }

  /** The node that decides a target's requests. */
  of(target: Target): RedisNode {
    return this.ofSlot(this.slotOf(target))
  }

  /** A key that lies on a node; any key if the node has no slots, or hardly any. */
  keyOn(node: BackendNode, beginning: string = 'probe'): string {
    let n = 0
    const tries = this.#isServing(node) ? TRIES : 0
    while (n < tries && this.ofSlot(this.slotOfTag(`${beginning}${n}`)) !== node) n += 1
    return `${beginning}${n}`
  }

  #isServing(node: BackendNode): boolean {
    for (let slot = 0; slot < SLOTS; slot += 1) if (this.ofSlot(slot) === node) return true
    return false
  }

  #named(name: string): RedisNode {
    let node = this.#nodes.get(name)
    if (node === undefined) {
      node = { name, inFlight: 0, calls: new Calls(), wasLone: false }
      this.#nodes.set(name, node)
    }
    return node
  }
}
