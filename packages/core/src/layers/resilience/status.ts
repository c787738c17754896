// How a store is, and what was counted of it. Asks nothing of it.

import { Calls } from '../../base/calls.js'
import type { StoreStats } from '../../store.js'
import type { Backend, BackendNode } from './backend.js'
import type { BreakerState } from './breaker.js'
import type { Events } from './events.js'
import type { Ledger } from './ledger.js'
import type { Peers } from './peers.js'
import type { Guard } from './recovery.js'

/** How a store is, as far as this process knows. */
export interface StoreHealth {
  /** `never-connected` until the store has answered once; else the worst state of a node's
   *  breaker. */
  readonly state: BreakerState | 'never-connected'
  /** The servers behind it, each with the state of its breaker and its calls under way. */
  readonly nodes: readonly {
    readonly name: string
    readonly state: BreakerState
    readonly inFlight: number
  }[]
  /** Processes that share the limits, as far as this one knows. */
  readonly instances: number
  /** Keys under which something was admitted locally and is yet to be counted in the store; those
   *  of each policy are counted apart. */
  readonly localKeys: number
}

export interface StatusOptions {
  readonly events: Events
  readonly guardOf: (node: BackendNode) => Guard
  readonly ledger: Ledger
  readonly peers: () => Peers
}

export class Status {
  /** The store has answered once. */
  hasAnswered = false
  readonly #backend: Backend
  readonly #options: StatusOptions

  constructor(backend: Backend, options: StatusOptions) {
    this.#backend = backend
    this.#options = options
  }

  health(): StoreHealth {
    const { guardOf, ledger, peers } = this.#options
    const nodes = this.#backend.nodes.all.map((node) => stateOf(node, guardOf(node)))
    const isAny = (some: BreakerState): boolean => nodes.some(({ state }) => state === some)
    const worst = isAny('open') ? 'open' : isAny('half-open') ? 'half-open' : 'closed'
    return {
      state: this.hasAnswered ? worst : 'never-connected',
      nodes,
      instances: peers().count,
      localKeys: ledger.keys,
    }
  }

  stats(): StoreStats {
    const { events, guardOf, ledger, peers } = this.#options
    const { kind = 'store', nodes } = this.#backend
    return {
      kind,
      nodes: nodes.all.map((node) => {
        const { name, state, inFlight } = stateOf(node, guardOf(node))
        const { ok, timeout, error, notSent, durations } = node.calls ?? new Calls()
        const calls = { ok, timeout, error, notSent }
        return { node: name, state, inFlight, calls, durations: durations.stats() }
      }),
      instances: peers().count,
      unreconciled: ledger.keys,
      events: { ...events.counts },
    }
  }
}

function stateOf(node: BackendNode, { breaker, inFlight }: Guard): StoreHealth['nodes'][number] {
  return { name: node.name, state: breaker.state, inFlight: node.inFlight ?? inFlight }
}
