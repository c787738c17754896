// The Redis nodes behind a client: one, or the masters of a Cluster; and where keys lie on them.

import type { BackendNode } from '../../layers/resilience/backend.js'
import type { Target } from '../../store.js'
import type { RedisLike } from '../client/client.js'
import { slotOf } from './hash-slot.js'
import { hashTagOf, type KeyFormat } from './keys.js'

export interface RedisNode extends BackendNode {
  inFlight: number
}

/** Name of the node that stands for slots whose node the client does not know. */
const UNKNOWN = 'unknown'
/** Tags that are tried to find one whose keys lie on a node: enough for one with some ten slots. */
const TRIES = 10_000

export class Nodes {
  readonly #client: RedisLike
  readonly #format: KeyFormat
  readonly #nodes: Map<string, RedisNode> = new Map()
  /** The only one, where there is no Cluster. */
  readonly #only: RedisNode | undefined
  #lastTag = ''
  #lastSlot = 0

  constructor(client: RedisLike, format: KeyFormat) {
    this.#client = client
    this.#format = format
    this.#only = client.isCluster === true ? undefined : this.#named('redis')
  }

  /** Those that the client knows; before it knows any, the one that stands for them. */
  get all(): readonly RedisNode[] {
    const all = [...this.#nodes.values()]
    const known = all.filter(({ name }) => name !== UNKNOWN)
    return known.length > 0 ? known : all
  }

  /** The slot of a target's first key; 0 where there is no Cluster. */
  slotOf({ key, ownKeys }: Target): number {
    return this.slotOfTag(ownKeys?.[0]?.tag ?? key)
  }

  slotOfTag(tag: string): number {
    if (this.#only !== undefined) return 0
    // Several layers ask about one request.
    if (tag !== this.#lastTag) {
      this.#lastSlot = slotOf(hashTagOf(this.#format, tag))
      this.#lastTag = tag
    }
    return this.#lastSlot
  }

  /** The slots of a target's keys, in the order of its policies. */
  slotsOf({ policySet, key, ownKeys }: Target): number[] {
    return policySet.policies.map((_, i) => this.slotOfTag(ownKeys?.[i]?.tag ?? key))
  }

  /** The node that serves a slot, as far as the client knows. */
  ofSlot(slot: number): RedisNode {
    return this.#only ?? this.#named(this.#client.slots?.[slot]?.[0] ?? UNKNOWN)
  }

  /** The node that decides a target's requests. */
  of(target: Target): RedisNode {
    return this.ofSlot(this.slotOf(target))
  }

  /** A key that lies on a node. Any, if the node has no slots, or hardly any. */
  keyOn(node: BackendNode): string {
    const { slots = [] } = this.#client
    const isServing = this.#only !== undefined || slots.some((names) => names?.[0] === node.name)
    let n = 0
    while (isServing && n < TRIES && this.ofSlot(this.slotOfTag(`probe${n}`)) !== node) n += 1
    return `probe${n}`
  }

  #named(name: string): RedisNode {
    let node = this.#nodes.get(name)
    if (node === undefined) {
      node = { name, inFlight: 0 }
      this.#nodes.set(name, node)
    }
    return node
  }
}
