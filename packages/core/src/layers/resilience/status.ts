// A store's state, and what was counted of it. Does not ask the store.

import { Calls } from '../../base/calls.js'
import type { StoreStats, WhenUnavailable } from '../../store.js'
import type { Backend, BackendNode } from './backend.js'
import type { BreakerState } from './breaker.js'
import type { Events } from './events.js'
import type { Ledger } from './ledger.js'
import type { Peers } from './peers.js'
import type { Guard } from './recovery.js'

/** A store's state, as far as this process knows. */
export interface StoreHealth {
  /** `never-connected` until the store has answered once, even with a refusal; else the worst state
   *  of a node's breaker. */
  readonly state: BreakerState | 'never-connected'
  /** The servers behind it, each with its breaker and its calls under way. */
  readonly nodes: readonly {
    readonly name: string
    readonly state: BreakerState
    readonly inFlight: number
  }[]
  /** Processes that share the limits, as far as this one knows. */
  readonly instances: number
  /** Keys with units that were admitted locally and are yet to be counted in the store. */
  readonly localKeys: number
}

export interface Status {
  health(): StoreHealth
  stats(): StoreStats
}

export interface StatusOptions {
  readonly peers: () => Peers
  readonly whenUnavailable: WhenUnavailable
}

/** @param hasAnswered whether the store has answered once */
export function statusOf(
  { kind = 'store', nodes }: Backend,
  guardOf: (node: BackendNode) => Guard,
  ledger: Ledger,
  { counts }: Events,
  { peers, whenUnavailable: when }: StatusOptions,
  hasAnswered: () => boolean,
): Status {
  const statesOf = (all: readonly BackendNode[]): StoreHealth['nodes'] =>
    all.map((node) => {
      const { breaker, inFlight } = guardOf(node)
      return { name: node.name, state: breaker.state, inFlight: node.inFlight ?? inFlight }
    })
  return {
    health() {
      const states = statesOf(nodes.all)
      const isAny = (some: BreakerState): boolean => states.some(({ state }) => state === some)
      const worst = isAny('open') ? 'open' : isAny('half-open') ? 'half-open' : 'closed'
      const state = hasAnswered() ? worst : 'never-connected'
      return { state, nodes: states, instances: peers().count, localKeys: ledger.keys }
    },
    stats() {
      const { all } = nodes
      const stats = statesOf(all).map(({ name, state, inFlight }, i) => {
        const { ok, timeout, error, notSent, durations } = all[i]?.calls ?? new Calls()
        const calls = { ok, timeout, error, notSent }
        const { awaySinceUs } = guardOf(all[i] as BackendNode)
        const awaySinceMs = awaySinceUs && Math.round(awaySinceUs / 1_000)
        return { node: name, state, awaySinceMs, inFlight, calls, durations: durations.stats() }
      })
      const whenUnavailable = typeof when === 'object' ? ('policy' as const) : when
      const state = { instances: peers().count, unreconciled: ledger.keys, whenUnavailable }
      return { kind, nodes: stats, ...state, events: { ...counts } }
    },
  }
}
