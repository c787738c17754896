// What layers are: each is asked a request, and answers it or asks the next one. Exactly one of a
// pending's methods is called, once, now or later. So a layer costs no promise, and stores that
// answer at once and stores that do not are one code path; the limiter makes the only promise.
//
// A layer passes the pending on where it has nothing to do afterwards, and wraps it where it has.

import type { Mode } from '../algorithms/driver.js'
import { isPromise } from '../base/maybe-async.js'
import type { Store, StoreRequest, StoreResult, Target } from '../store.js'

export interface Layer {
  ask(request: LayerRequest, pending: Pending): void
}

/** What a store is asked; or, as one more mode, to forget a target. */
export interface LayerRequest extends Omit<StoreRequest, 'mode'> {
  readonly mode: Mode | 'reset'
  /** It is about what the store itself has counted, and fails where the store cannot decide it. */
  readonly isForStore?: boolean
}

/** Who waits for a decision. */
export interface Pending {
  decided(result: StoreResult): void
  failed(error: unknown): void
}

/** Nobody waits. */
export const IGNORED: Pending = { decided() {}, failed() {} }

/** A store as a layer: the last one, unless the store is made of layers itself. */
export function layerOf(store: Store & Partial<Layer>): Layer {
  return typeof store.ask === 'function' ? (store as Layer) : new StoreLayer(store)
}

class StoreLayer implements Layer {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  ask(request: LayerRequest, pending: Pending): void {
    let result: unknown
    try {
      if (request.mode === 'reset') result = this.#store.reset(request.target)
      else result = this.#store.decide(request as StoreRequest)
    } catch (error) {
      pending.failed(error)
      return
    }
    if (isPromise(result)) {
      result.then(
        (settled) => pending.decided(resultOf(settled, request)),
        (error) => pending.failed(error),
      )
    } else pending.decided(resultOf(result, request))
  }
}

/** A reset answers nothing. */
function resultOf(result: unknown, { count }: LayerRequest): StoreResult {
  if (result !== undefined) return result as StoreResult
  return { granted: count, nowUs: 0, untilUs: [], policies: [], source: 'store', degraded: false }
}

/** A promise of what a layer answers. */
export function promiseOf(layer: Layer, request: LayerRequest): Promise<StoreResult> {
  return new Promise((resolve, reject) => {
    layer.ask(request, { decided: resolve, failed: reject })
  })
}

export function resetOf(target: Target): LayerRequest {
  return { mode: 'reset', target, costs: target.policySet.policies.map(() => 1), count: 1 }
}
