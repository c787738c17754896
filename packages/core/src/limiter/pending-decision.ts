// Turns a store's answer into a decision, counts it and publishes it. There is a promise only if
// the answer does not come at once.

import type { Layer, Pending } from '../layer.js'
import type { PolicyResult, StoreResult } from '../store.js'
import { bindingPlace } from './binding.js'
import { countDecision, countFailure } from './counters.js'
import { type Decision, madeOf, ofClass } from './decision.js'
import type { LimiterRequest } from './limiter-request.js'
import { published } from './observers.js'

/** Makes the decision for a store's result, and counts it. */
export function decisionOf(request: LimiterRequest, result: StoreResult): Decision {
  const { granted, policies, unavailableMs } = result
  const place = bindingPlace(policies, granted === 0 && unavailableMs === undefined)
  const binding = policies[place] as PolicyResult
  const decision = ofClass(madeOf(request, result, binding), request.priority)
  countDecision(request, result, binding, place, decision.reason)
  return published(decision, request.mode)
}

/** The decision of a layer; a promise only where the layer does not answer at once. */
export function decisionBy(layer: Layer, request: LimiterRequest): Decision | Promise<Decision> {
  const { decideNow } = layer
  if (decideNow !== undefined) return decisionNow(decideNow, request)
  const pending = new PendingDecision(request)
  layer.ask(request, pending)
  if (pending.decision !== undefined) return pending.decision
  if (pending.failure !== undefined) throw pending.failure.error
  waiting = pending
  return new Promise<Decision>(keepBoth)
}

function decisionNow(
  decideNow: NonNullable<Layer['decideNow']>,
  request: LimiterRequest,
): Decision {
  let result: StoreResult
  try {
    result = decideNow(request)
  } catch (error) {
    countFailureOf(request)
    throw error
  }
  return decisionOf(request, result)
}

class PendingDecision implements Pending {
  decision: Decision | undefined = undefined
  failure: { readonly error: unknown } | undefined = undefined
  resolve: ((decision: Decision) => void) | undefined = undefined
  reject: ((error: unknown) => void) | undefined = undefined
  readonly request: LimiterRequest

  constructor(request: LimiterRequest) {
    this.request = request
  }

  decided(result: StoreResult): void {
    this.decision = decisionOf(this.request, result)
    this.resolve?.(this.decision)
  }

  failed(error: unknown): void {
    countFailureOf(this.request)
    this.failure = { error }
    this.reject?.(error)
  }
}

function countFailureOf(request: LimiterRequest): void {
  if (request.mode === 'consume') countFailure(request)
}

let waiting: PendingDecision
/** One executor for all promises: making one each would take a third of a promise's time. */
function keepBoth(resolve: (decision: Decision) => void, reject: (error: unknown) => void): void {
  waiting.resolve = resolve
  waiting.reject = reject
}
