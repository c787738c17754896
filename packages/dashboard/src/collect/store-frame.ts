// What the page shows of stores and of overload protection.

import type { GuardFrame, StoreFrame } from '../protocol.js'
import type { ShownOverload, ShownStore } from '../watched.js'

export function storeFrame(id: string, store: ShownStore): Omit<StoreFrame, 'answer'> {
  const stats = store.stats?.()
  const { kind = 'store', instances = 1, unreconciled = 0, events = {}, nodes = [] } = stats ?? {}
  const whenUnavailable = stats?.whenUnavailable
  return {
    id,
    kind,
    instances,
    unreconciled,
    whenUnavailable,
    events,
    nodes: nodes.map(({ durations: { bounds, counts }, ...node }) => {
      return { ...node, durations: { bounds, counts } }
    }),
    memory: stats?.memory,
  }
}

export function guardFrame(id: string, guard: ShownOverload): GuardFrame {
  const { limit, inFlight, refused, priorities = [] } = guard
  return { id, limit, inFlight, refused, priorities: priorities.map((each) => ({ ...each })) }
}

/** The worst state of any node of the stores. */
export function healthOf(stores: Iterable<ShownStore>): 'closed' | 'open' | 'half-open' {
  const states = [...stores].flatMap((store) => {
    return store.stats?.().nodes.map(({ state }) => state) ?? []
  })
  return states.includes('open') ? 'open' : states.includes('half-open') ? 'half-open' : 'closed'
}
