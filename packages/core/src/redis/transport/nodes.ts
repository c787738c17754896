// The Redis nodes behind a client, each with a breaker of its own: one, or the masters of a Cluster.

import type { Breaker, BreakerState } from '../../layers/resilience/breaker.js'
import type { RedisLike } from './script-call.js'

export class RedisNode {
  readonly name: string
  readonly breaker: Breaker
  /** Calls that have been sent and not answered. */
  inFlight = 0
  /** Those of them whose deadline has passed. */
  overdue = 0
  /** A tag whose keys lie on this node, for the probe's key: of the last request that belonged there. */
  tag: string | undefined
  #told: BreakerState = 'closed'

  constructor(name: string, breaker: Breaker) {
    this.name = name
    this.breaker = breaker
  }

  /** The breaker's state, if it is another than at the last call. */
  change(): BreakerState | undefined {
    const { state } = this.breaker
    if (state === this.#told) return undefined
    this.#told = state
    return state
  }
}

/** Serves slots of which the client does not know who does. */
const UNKNOWN = 'unknown'

export class Nodes {
  readonly #client: RedisLike
  readonly #create: (node: string) => Breaker
  readonly #nodes: Map<string, RedisNode> = new Map()

  constructor(client: RedisLike, create: (node: string) => Breaker) {
    this.#client = client
    this.#create = create
    if (client.isCluster !== true) this.#named('redis')
  }

  /** Those that the client knows; before it knows any, the one that stands for them. */
  get all(): readonly RedisNode[] {
    const all = [...this.#nodes.values()]
    const known = all.filter(({ name }) => name !== UNKNOWN)
    return known.length > 0 ? known : all
  }

  /** The node that serves a slot, as far as the client knows. */
  ofSlot(slot: number): RedisNode {
    if (this.#client.isCluster !== true) return this.#named('redis')
    return this.#named(this.#client.slots?.[slot]?.[0] ?? UNKNOWN)
  }

  #named(name: string): RedisNode {
    let node = this.#nodes.get(name)
    if (node === undefined) {
      node = new RedisNode(name, this.#create(name))
      this.#nodes.set(name, node)
    }
    return node
  }
}
