// A store that is made of layers around one that may fail.

import { storeClosed } from '../../base/errors.js'
import type { Store, StoreRequest, StoreResult } from '../../store.js'
import {
  LAYER,
  type Layer,
  type LayerRequest,
  type Pending,
  promiseOf,
  resetOf,
  type StoreOfLayers,
} from '../layer.js'
import type { StoreHealth } from './backend.js'
import type { Events, StoreEvents, StoreListener } from './events.js'
import type { Resilience } from './resilience.js'

export interface ResilientStore extends Store {
  health(): StoreHealth
  /** Listens; returns what stops it. What a listener throws becomes a warning. */
  on<Name extends keyof StoreEvents>(name: Name, listener: StoreListener<Name>): () => void
  /** Ends timers and waits, within a second in any state. */
  close(): Promise<void>
}

export interface LayeredStoreParts {
  /** The first layer, which asks the others. */
  readonly first: Layer
  readonly resilience: Resilience
  readonly events: Events
  readonly local: boolean
  /** Closes everything, the resilience layer and what it asks included. */
  readonly close: () => Promise<void>
}

/** The store that the parts make. No class: a proxy of it works, too. */
export function layeredStore(parts: LayeredStoreParts): ResilientStore & StoreOfLayers {
  const { first, resilience, events, local } = parts
  let isClosed = false
  const decide = (request: StoreRequest): Promise<StoreResult> => promiseOf(layer, request)
  const layer = {
    decide,
    ask(request: LayerRequest, pending: Pending): void {
      if (isClosed) pending.failed(storeClosed())
      else first.ask(request, pending)
    },
  }
  return {
    local,
    decide,
    async reset(target) {
      await promiseOf(layer, resetOf(target))
    },
    health: () => resilience.health(),
    on: (name, listener) => events.on(name, listener),
    async close() {
      isClosed = true
      await parts.close()
    },
    [LAYER]: layer,
  }
}
