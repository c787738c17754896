// The Redis nodes behind a client: one, or the masters of a Cluster; and where keys lie on them.

import type { BackendNode } from '../../layers/resilience/backend.js'
import type { Target } from '../../store.js'
import type { RedisLike } from '../client/client.js'
import { slotOf } from './hash-slot.js'
import { hashTagOf, type KeyFormat } from './keys.js'

export interface RedisNode extends BackendNode {
  inFlight: number
  /** A tag whose keys lie on this node, for the probe's key: of the last request there. */
  tag: string | undefined
}

/** Name of the node that stands for slots whose node the client does not know. */
const UNKNOWN = 'unknown'

export class Nodes {
  readonly #client: RedisLike
  readonly #format: KeyFormat
  readonly #nodes: Map<string, RedisNode> = new Map()
  /** The only one, where there is no Cluster. */
  readonly #only: RedisNode | undefined
  readonly isCluster: boolean
  #lastTag = ''
  #lastSlot = 0

  constructor(client: RedisLike, format: KeyFormat) {
    this.#client = client
    this.#format = format
    this.isCluster = client.isCluster === true
    this.#only = this.isCluster ? undefined : this.#named('redis')
  }

  /** Those that the client knows; before it knows any, the one that stands for them. */
  get all(): readonly RedisNode[] {
    const all = [...this.#nodes.values()]
    const known = all.filter(({ name }) => name !== UNKNOWN)
    return known.length > 0 ? known : all
  }

  /** The slot of a target's first key; 0 where there is no Cluster. */
  slotOf({ key, ownKeys }: Pick<Target, 'key' | 'ownKeys'>): number {
    return this.#only === undefined ? this.slotOfTag(ownKeys?.[0]?.tag ?? key) : 0
  }

  slotOfTag(tag: string): number {
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
    const node = this.#only ?? this.ofSlot(this.slotOf(target))
    node.tag = target.ownKeys?.[0]?.tag ?? target.key
    return node
  }

  /** A key that lies on a node. Any, if the node has no slots any more. */
  keyOn(node: BackendNode): string {
    const isThere = (key: string) => this.ofSlot(this.slotOf({ key })) === node
    const { tag } = node as RedisNode
    if (tag !== undefined && isThere(tag)) return tag
    // The slot of the last one has moved.
    for (let n = 0; n < 1_000; n += 1) if (isThere(`probe${n}`)) return `probe${n}`
    return 'probe'
  }

  #named(name: string): RedisNode {
    let node = this.#nodes.get(name)
    if (node === undefined) {
      node = { name, inFlight: 0, tag: undefined }
      this.#nodes.set(name, node)
    }
    return node
  }
}
