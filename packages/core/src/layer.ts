// A layer answers a request or asks the next layer. It calls exactly one method of the request's
// `Pending`, once, now or later; and after `join`, once more for each request that has joined. So
// one code path serves layers that answer at once and layers that answer later, and no layer needs
// a promise for a decision: only the limiter makes one.
//
// A layer that has nothing to do after the answer passes the `Pending` on; otherwise, it wraps it.

import { quote, StoreError } from './base/errors.js'
import { isPromise } from './base/maybe-async.js'
import { MadeResult } from './request.js'
import type { PenaltyRequest, Store, StoreRequest, StoreResult, Target } from './store.js'

export interface Layer {
  ask(request: LayerRequest, pending: Pending): void
  /** For layers that always answer at once: returns the answer, or throws what `ask` would fail
   *  with. The memory store has it, as a pending takes a twentieth of a decision's time. */
  readonly decideNow?: (request: StoreRequest) => StoreResult
  /** For layers that gather requests. Lets a request join an equal one that has yet to leave, and
   *  returns the pending of that one, which is answered once more: in the order in which they came.
   *  Undefined: there is none. */
  join?(request: LayerRequest): Pending | undefined
  /** For stores that count the processes that share their limits. Resolves when they have done so
   *  for the first time, or cannot; undefined: that is over. */
  readonly whenCounted?: (() => Promise<void> | undefined) | undefined
}

/** What a layer is asked: a request to a store or, as one more mode, to forget a target. */
export type LayerRequest = (StoreRequest | ResetRequest) & {
  /** To consume: for how long, in ms, the units granted may be spent. */
  readonly aheadMs?: number | undefined
  /** True: the request concerns what the store itself has counted, and fails where the store cannot
   *  decide it. */
  readonly isForStore?: boolean
  /** To release or renew: `untilUs` of slots that were renewed without the store, for a request
   *  that is again decided without it. */
  readonly localUntilUs?: readonly number[] | undefined
  /** To renew, where that is decided without the store: called with undefined if the store has
   *  surely not renewed, and with its answer if that comes late. */
  readonly inStore?: (result: StoreResult | undefined) => void
}

/** Forgets what was taken. */
export interface ResetRequest extends Omit<PenaltyRequest, 'mode'> {
  readonly mode: 'reset'
}

/** Receives the answer to a request: a decision or a failure. */
export interface Pending {
  decided(result: StoreResult): void
  failed(error: unknown): void
}

/** For requests whose answer nobody awaits. */
export const IGNORED: Pending = { decided() {}, failed() {} }

/** The property that holds the first layer of a store that is made of layers. The ESM and CJS
 *  builds share it. */
export const LAYER: unique symbol = Symbol.for('@weir/core:layer-1')

export interface StoreOfLayers extends Store {
  readonly [LAYER]: Layer & Pick<Store, 'decide'>
}

/** A store as a layer: its first layer, if the store's `decide` is that layer's. A wrapper around
 *  the store has another `decide`. */
export function layerOf(store: Store & Partial<StoreOfLayers>): Layer {
  const own = store[LAYER]
  return own !== undefined && own.decide === store.decide ? own : storeLayer(store)
}

/** A layer over a store that anybody may have written, so its answers are checked. */
function storeLayer(store: Store): Layer {
  return {
    ask(request, pending) {
      let result: unknown
      try {
        result = request.mode === 'reset' ? store.reset(request.target) : store.decide(request)
      } catch (error) {
        pending.failed(error)
        return
      }
      if (!isPromise(result)) answer(result, request, pending)
      else {
        Promise.resolve(result).then(
          (settled) => answer(settled, request, pending),
          (error) => pending.failed(error),
        )
      }
    },
  }
}

function answer(result: unknown, request: LayerRequest, pending: Pending): void {
  if (request.mode === 'reset') pending.decided(RESET)
  else if (isResult(result, request)) pending.decided(result)
  else {
    const right = '{ granted, nowUs, untilUs, policies, source, degraded }'
    const what = `the store answered ${quote(result)}; give ${right}, with a result for each policy`
    pending.failed(new StoreError('WEIR_STORE_FAILED', what))
  }
}

/** A request to forget what was taken of a target. */
export function resetOf(target: Target): ResetRequest {
  return { mode: 'reset', target, costs: target.policySet.policies.map(() => 1), count: 1 }
}

/** A reset's answer: nothing. */
export const RESET: StoreResult = new MadeResult(1, 0, [], [], 'store', undefined)

/** Whether a result has what other code relies on: anybody may have written the store. */
function isResult(result: unknown, { target }: LayerRequest): result is StoreResult {
  const { granted, untilUs, policies } = (result ?? {}) as Partial<StoreResult>
  const { length } = target.policySet.policies
  if (!Number.isInteger(granted) || untilUs?.length !== length || policies?.length !== length) {
    return false
  }
  for (let i = 0; i < length; i += 1) {
    if (typeof policies[i]?.remaining !== 'number') return false
  }
  return true
}

/** A promise of a layer's answer. */
export function promiseOf(layer: Layer, request: LayerRequest): Promise<StoreResult> {
  return new Promise((resolve, reject) => {
    layer.ask(request, { decided: resolve, failed: reject })
  })
}
