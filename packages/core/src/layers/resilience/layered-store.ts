// A store that is made of layers around one that may fail.

import { storeClosed } from '../../base/errors.js'
import type { Store, StoreRequest, StoreResult, Target } from '../../store.js'
import { type Layer, type LayerRequest, type Pending, promiseOf, resetOf } from '../layer.js'
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

export class LayeredStore implements ResilientStore, Layer {
  readonly local: boolean
  readonly #parts: LayeredStoreParts
  #isClosed = false

  constructor(parts: LayeredStoreParts) {
    this.#parts = parts
    this.local = parts.local
  }

  ask(request: LayerRequest, pending: Pending): void {
    if (this.#isClosed) pending.failed(storeClosed())
    else this.#parts.first.ask(request, pending)
  }

  decide(request: StoreRequest): Promise<StoreResult> {
    return promiseOf(this, request)
  }

  async reset(target: Target): Promise<void> {
    await promiseOf(this, resetOf(target))
  }

  health(): StoreHealth {
    return this.#parts.resilience.health()
  }

  on<Name extends keyof StoreEvents>(name: Name, listener: StoreListener<Name>): () => void {
    return this.#parts.events.on(name, listener)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#parts.close()
  }
}
