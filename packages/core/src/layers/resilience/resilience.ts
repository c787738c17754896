// The layer that decides in time, whatever the store does: a deadline for each request, a circuit
// breaker for each node, and a decision without the store where it cannot make one. It remembers
// what it last saw of each target, so that an outage gives nobody a new budget, and what the store
// has lost is restored: the first result that shows a loss is followed by one `restore`. Results
// already given stand, so what was in flight then may pass beyond the limit. What is decided
// without the store is in fallback.ts; how a node comes back in recovery.ts.

import { memoized } from '../../base/cache.js'
import { Calls } from '../../base/calls.js'
import { storeClosed } from '../../base/errors.js'
import type { PolicySet, StoreResult, StoreStats, Target, WhenUnavailable } from '../../store.js'
import { IGNORED, type Layer, type LayerRequest, type Pending } from '../layer.js'
import type { Backend, StoreHealth } from './backend.js'
import type { BreakerState } from './breaker.js'
import { type Deadline, Deadlines, type Timed } from './deadlines.js'
import { type Events, type EventsOptions, storeEvents } from './events.js'
import { concernsNode, isMisuse, storeFailure, timedOut } from './failures.js'
import { Fallback, type FallbackOptions } from './fallback.js'
import { LastSeen, restoring } from './last-seen.js'
import { type Guard, PROBES, Recovery } from './recovery.js'

export interface ResilienceOptions extends FallbackOptions, EventsOptions {
  readonly deadlineMs: number
  readonly whenUnavailable: WhenUnavailable
}

export class Resilience implements Layer {
  readonly events: Events
  readonly #backend: Backend
  readonly #options: ResilienceOptions
  readonly #deadlines: Deadlines
  readonly #fallback: Fallback
  readonly #recovery: Recovery
  /** By the number of policies. */
  readonly #lastSeen: LastSeen[] = []
  readonly #seenOf: (policySet: PolicySet) => LastSeen = memoized(({ policies: { length } }) => {
    this.#lastSeen[length] ??= new LastSeen(length, this.#options.maxLocalKeys)
    return this.#lastSeen[length]
  })
  #hasAnswered = false
  /** What cancels turns that came too late. */
  readonly #unwanted: LayerRequest[] = []
  #isClosed = false

  constructor(backend: Backend, options: ResilienceOptions) {
    const { time, deadlineMs } = options
    const events = storeEvents(backend.title, options)
    this.events = events
    this.#backend = backend
    this.#options = options
    this.#deadlines = new Deadlines(time, deadlineMs)
    this.#fallback = new Fallback(options)
    const store: Layer = { ask: (request, pending) => this.#send(request, pending) }
    this.#recovery = new Recovery(backend, this.#fallback, { store, events, time })
  }

  ask(request: LayerRequest, pending: Pending): void {
    const guard = this.#guardOf(request)
    const { state } = guard.breaker
    if (state === 'closed' && !this.#isClosed) {
      this.#send(request, pending, guard)
      return
    }
    const reason = new Error(`its circuit breaker is ${state}`)
    const cause = this.#isClosed ? storeClosed() : storeFailure(reason, this.#backend.title)
    this.#without(request, guard, cause, pending)
  }

  #guardOf({ target }: LayerRequest): Guard {
    return this.#recovery.guardOf(this.#backend.nodes.of(target))
  }

  /** Asks the store, whatever the breaker says. */
  #send(request: LayerRequest, pending: Pending, guard: Guard = this.#guardOf(request)): void {
    const { deadlineAtMs } = request
    if (deadlineAtMs !== undefined && deadlineAtMs <= this.#options.time.nowMs()) {
      this.#without(request, guard, this.#timedOut(), pending)
      return
    }
    const guarded = new GuardedRequest(this, request, guard, pending)
    const reason = this.#backend.unready()
    // A client that has lost its connection is not queued on.
    if (reason !== undefined) {
      if (guard.node.calls !== undefined) guard.node.calls.notSent += 1
      guarded.failed(new Error(reason))
      return
    }
    if (request.mode === 'reset') this.#forget(request.target)
    this.#backend.next.ask(request, guarded)
    if (!guarded.isDone) this.#deadlines.add(guarded, deadlineAtMs)
  }

  health(): StoreHealth {
    const nodes = this.#backend.nodes.all.map((node) => {
      const { breaker, inFlight } = this.#recovery.guardOf(node)
      return { name: node.name, state: breaker.state, inFlight: node.inFlight ?? inFlight }
    })
    const stateOf = (some: BreakerState) => nodes.find(({ state }) => state === some)?.state
    const worst = stateOf('open') ?? stateOf('half-open') ?? 'closed'
    return {
      state: this.#hasAnswered ? worst : 'never-connected',
      nodes,
      instances: this.#options.peers().count,
      localKeys: this.#fallback.ledger.keys,
    }
  }

  stats(): StoreStats {
    const { kind = 'store', nodes } = this.#backend
    return {
      kind,
      nodes: nodes.all.map((node) => {
        const { breaker, inFlight } = this.#recovery.guardOf(node)
        const { ok, timeout, error, notSent, durations } = node.calls ?? new Calls()
        return {
          node: node.name,
          state: breaker.state,
          inFlight: node.inFlight ?? inFlight,
          calls: { ok, timeout, error, notSent },
          durations: durations.stats(),
        }
      }),
      instances: this.#options.peers().count,
      unreconciled: this.#fallback.ledger.keys,
      events: { ...this.events.counts },
    }
  }

  close(): void {
    this.#isClosed = true
    this.events.close()
    this.#recovery.close()
    this.#deadlines.close()
    // The rest of decisions that were under way is made without the store.
    this.#options.time.soon(() => this.#fallback.close())
  }

  /** The store has decided in time. */
  decided(guarded: GuardedRequest, result: StoreResult): void {
    this.#noted(guarded.request, result)
    this.#deadlines.remove(guarded)
    guarded.guard.breaker.succeeded()
    guarded.pending.decided(result)
  }

  /** The store has decided what was decided without it before. */
  decidedLate({ request }: GuardedRequest, result: StoreResult): void {
    const { mode, isForStore } = request
    if (isForStore === true || this.#isClosed) return
    // What was given up as not counted has been.
    if (mode === 'reconcile') this.#noted(request, result)
    const { granted, untilUs } = result
    if (mode === 'settle') this.#fallback.ledger.counted(chargeOf(request), granted, untilUs)
    // Whoever waits was given another turn, or none.
    if (request.maxWaitMs !== undefined && mode === 'consume') this.#cancel(request, result)
    else if (mode === 'consume' || mode === 'penalty')
      this.#fallback.ledger.counted(request, granted, untilUs)
    // What the store has given back must not be given back a second time either.
    else if (mode === 'refund' || mode === 'cancel')
      this.#fallback.ledger.counted(request, -granted)
  }

  /** Nobody wants the turn that a reply gives. */
  #cancel(request: LayerRequest, result: StoreResult): void {
    if (result.granted === 0) return
    this.#unwanted.push(cancelling(request, result))
    if (this.#unwanted.length > 1) return
    // Of all replies of a turn of the event loop the last first, as later turns stand on earlier.
    this.#options.time.soon(() => {
      for (const cancel of this.#unwanted.splice(0).reverse()) this.#send(cancel, IGNORED)
    })
  }

  /** The store has said that it cannot decide, or cannot be asked. */
  failed(guarded: GuardedRequest, error: unknown): void {
    this.#deadlines.remove(guarded)
    const { request, guard, pending } = guarded
    const failure = storeFailure(error, this.#backend.title)
    if (isMisuse(failure)) {
      pending.failed(failure)
      return
    }
    const { policySet, key } = request.target
    if (concernsNode(failure)) this.#recovery.failed(guard, failure)
    else this.events.emit('key-error', { limiter: policySet.name, key, cause: failure })
    this.#without(request, guard, failure, pending)
  }

  /** The store has said nothing in time. */
  expired(guarded: GuardedRequest): void {
    this.failed(guarded, this.#timedOut())
  }

  #timedOut(): Error {
    return timedOut(this.#options.deadlineMs, this.#backend.title)
  }

  #without(request: LayerRequest, guard: Guard, cause: Error, pending: Pending): void {
    const { mode, target, isForStore } = request
    // These are about the store's own counters.
    if (mode === 'reset') this.#forget(target)
    if (mode === 'reset' || mode === 'reconcile' || mode === 'restore' || isForStore === true) {
      pending.failed(cause)
      return
    }
    const { state, probeAtMs } = guard.breaker
    this.events.emit('fallback', { limiter: target.policySet.name, key: target.key, cause })
    if (state === 'closed') this.#recovery.reconcileSoon(guard)
    const retryAfterMs = state === 'open' ? probeAtMs - this.#options.time.nowMs() : 1_000
    const seen = this.#seenOf(target.policySet).get(target)
    // What the store was charged too much it is not given back.
    const local = mode === 'settle' ? chargeOf(request) : request
    let result: StoreResult
    try {
      result = this.#fallback.decide(local, seen, cause, retryAfterMs)
    } catch (error) {
      pending.failed(error)
      return
    }
    pending.decided(result)
  }

  /** Remembers a result of the store, and restores what it shows to be lost. */
  #noted(request: LayerRequest, result: StoreResult): void {
    const { mode, target, costs, isForStore } = request
    this.#hasAnswered = true
    if (mode === 'reset') return
    this.#fallback.noted(result.nowUs)
    if (mode === 'reconcile' && isForStore !== true)
      this.#fallback.ledger.counted(request, 1, request.untilUs)
    // What takes nothing shows nothing new, and must not hide that a key was lost.
    let units = 0
    for (let i = 0; i < costs.length; i += 1) units += Math.abs(costs[i] as number)
    if (mode === 'peek' || units === 0 || target.policySet === PROBES) return
    const whole = request.keep === undefined ? result : wholeOf(request, result)
    const before = this.#seenOf(target.policySet).note(target, whole, mode)
    if (before === undefined || !this.#backend.recovers) return
    this.#send(restoring(target, before), {
      decided: ({ granted }) => {
        const { name } = target.policySet
        if (granted > 0) this.events.emit('data-loss', { limiter: name, key: target.key })
      },
      // Nothing is sent again: up to one limit may then pass a second time.
      failed() {},
    })
  }

  #forget(target: Target): void {
    this.#seenOf(target.policySet).forget(target)
    this.#fallback.forget(target)
  }
}

/** Of a settlement what is charged. */
function chargeOf(request: LayerRequest): LayerRequest {
  return { ...request, mode: 'penalty', costs: request.costs.map((cost) => Math.max(0, cost)) }
}

/** Gives back a turn that was reserved. */
function cancelling(request: LayerRequest, { untilUs, nowUs }: StoreResult): LayerRequest {
  const { target, costs } = request
  const receipt = { untilUs, seenUs: nowUs, isForStore: true }
  return { mode: 'cancel', target, costs, count: 1, ...receipt }
}

/**
 * What remains to everybody: with what must remain and, where nothing is left to the request, at
 * the most that. Of a bucket the end tells more.
 */
function wholeOf({ keep = [], costs }: LayerRequest, result: StoreResult): StoreResult {
  const policies = result.policies.map((each, i) => {
    const { policy, limit } = each
    const most = each.remaining + (costs[i] === 0 ? 0 : (keep[i] as number))
    if (each.remaining > 0 || !policy.kernel?.traits.drains) return { ...each, remaining: most }
    // The end was rounded up to whole us.
    const usedMs = ((result.untilUs[i] as number) - result.nowUs - 1) / 1_000
    const left = Math.max(0, limit - Math.ceil(usedMs / policy.unitMs))
    return { ...each, remaining: Math.min(most, left) }
  })
  return { ...result, policies }
}

/** A request on its way to the store. */
class GuardedRequest implements Pending, Timed {
  deadline: Deadline | undefined = undefined
  previous: Timed | undefined = undefined
  next: Timed | undefined = undefined
  isDone = false
  readonly resilience: Resilience
  readonly request: LayerRequest
  readonly guard: Guard
  readonly pending: Pending

  constructor(resilience: Resilience, request: LayerRequest, guard: Guard, pending: Pending) {
    this.resilience = resilience
    this.request = request
    this.guard = guard
    this.pending = pending
    guard.inFlight += 1
  }

  decided(result: StoreResult): void {
    this.guard.inFlight -= 1
    if (this.isDone) {
      this.resilience.decidedLate(this, result)
      return
    }
    this.isDone = true
    this.resilience.decided(this, result)
  }

  failed(error: unknown): void {
    this.guard.inFlight -= 1
    if (this.isDone) return
    this.isDone = true
    this.resilience.failed(this, error)
  }

  expire(): void {
    this.isDone = true
    this.resilience.expired(this)
  }
}
