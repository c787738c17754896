// The layer that decides in time, whatever the store does: a deadline for each request, a circuit
// breaker for each node, and a decision without the store where it cannot make one. It remembers
// what it last saw of each target, so that an outage gives nobody a new budget, and what the store
// has lost is restored: the first result that shows a loss is followed by one `restore`. Results
// already given stand, so what was in flight then may pass beyond the limit. What is decided
// without the store is in fallback.ts; how a node comes back in recovery.ts.

import { traitsOf } from '../../algorithms/modes.js'
import { memoized } from '../../base/cache.js'
import { Calls } from '../../base/calls.js'
import { storeClosed } from '../../base/errors.js'
import { IGNORED, type Layer, type LayerRequest, type Pending } from '../../layer.js'
import { correctionOf } from '../../request.js'
import type { PolicySet, StoreResult, StoreStats, Target, WhenUnavailable } from '../../store.js'
import type { Waiting } from './admitted.js'
import type { Backend, StoreHealth } from './backend.js'
import type { BreakerState } from './breaker.js'
import { UnderCeiling } from './ceiling.js'
import { type Deadline, Deadlines, type Timed } from './deadlines.js'
import { type Events, type EventsOptions, storeEvents } from './events.js'
import { concernsNode, isMisuse, isRefusal, storeFailure, timedOut } from './failures.js'
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
  /** Why a node is not asked, by the state of its breaker. One error for all decisions: two with a
   *  stack for each take longer than the decision. */
  readonly #reasons: Partial<Record<BreakerState, Error>> = {}
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
    const store: Layer = { ask: (request, pending) => this.#send(request, pending, 'recovery') }
    this.#recovery = new Recovery(backend, this.#fallback.ledger, { store, events, time })
  }

  ask(request: LayerRequest, pending: Pending): void {
    const guard = this.#guardOf(request)
    if (this.#isAway(guard)) this.#without(request, guard, this.#reasonOf(guard), pending)
    else if (guard.breaker.state === 'half-open') this.#sendUnderCeiling(request, pending, guard)
    else this.#send(request, pending, 'user', guard)
  }

  /** Whether the store alone decides the requests of a target. */
  isCalm(target: Target): boolean {
    return this.#recovery.guardOf(this.#backend.nodes.of(target)).breaker.state === 'closed'
  }

  #sendUnderCeiling(request: LayerRequest, pending: Pending, guard: Guard): void {
    const { mode, target, count } = request
    const { policySet } = target
    if (isAboutStore(request) || !this.#fallback.hasCeiling(policySet)) {
      this.#send(request, pending, 'user', guard)
      return
    }
    let asked = request
    let held: StoreResult | undefined
    if (traitsOf(mode).judges) {
      const seen = this.#seenOf(policySet).get(target)
      const isBefore = seen !== undefined && seen.nowUs <= guard.backUs
      held = this.#fallback.underCeiling(request, isBefore ? seen : undefined)
    }
    if (mode === 'consume' && held !== undefined) {
      if (held.granted === 0) {
        this.#fellBack(request, this.#reasonOf(guard))
        pending.decided(held)
        return
      }
      if (held.granted < count) asked = { ...request, count: held.granted }
    }
    const under = new UnderCeiling(this.#fallback, asked, held, pending)
    this.#send(asked, under, 'user', guard)
  }

  /** Whether nothing of users' is to be sent. */
  #isAway({ breaker }: Guard): boolean {
    return breaker.state === 'open' || this.#isClosed
  }

  #reasonOf({ breaker: { state } }: Guard): Error {
    if (this.#isClosed) return storeClosed()
    this.#reasons[state] ??= this.#breakerIs(state)
    return this.#reasons[state]
  }

  #breakerIs(state: BreakerState): Error {
    return storeFailure(new Error(`its circuit breaker is ${state}`), this.#backend.title)
  }

  /** An error as its request alone is given it: frameworks write to errors that they catch. */
  #ownOf(error: unknown, { breaker: { state } }: Guard): unknown {
    return error === this.#reasons[state] ? this.#breakerIs(state) : error
  }

  #guardOf({ target }: LayerRequest): Guard {
    return this.#recovery.guardOf(this.#backend.nodes.of(target))
  }

  /** Asks the store, whatever the breaker says. */
  #send(
    request: LayerRequest,
    pending: Pending,
    sender: Sender,
    guard: Guard = this.#guardOf(request),
  ): void {
    const { deadlineAtMs } = request
    if (deadlineAtMs !== undefined && deadlineAtMs <= this.#options.time.nowMs()) {
      this.#without(request, guard, this.#timedOut(), pending)
      return
    }
    const guarded = new GuardedRequest(this, request, sender, guard, pending)
    const reason = this.#backend.unready()
    // A client that has lost its connection is not queued on.
    if (reason !== undefined) {
      if (guard.node.calls !== undefined) guard.node.calls.notSent += 1
      guarded.failed(new Error(reason))
      return
    }
    if (request.mode === 'reset') this.#forget(request.target)
    if (sender === 'user' && this.#fallback.ledger.keys > 0 && this.#isBehind(guarded)) return
    this.#hand(guarded)
  }

  /** Hands a request to the store. */
  #hand(guarded: GuardedRequest): void {
    guarded.isSent = true
    this.#backend.next.ask(guarded.request, guarded)
    this.#limit(guarded)
  }

  /** Its deadline begins when it arrives, whatever it waits for. */
  #limit(guarded: GuardedRequest): void {
    const { isDone, deadline, request } = guarded
    if (!isDone && deadline === undefined) this.#deadlines.add(guarded, request.deadlineAtMs)
  }

  /**
   * Whether a request has to wait until something is counted in the store first: what was admitted
   * here under a counter that it reads. Else the store would grant that again.
   */
  #isBehind(guarded: GuardedRequest): boolean {
    const { request, guard } = guarded
    if (isAboutStore(request) || !this.#backend.recovers) return false
    const owed = this.#fallback.ledger.owedBy(request.target)
    if (owed.length === 0) return false
    this.#limit(guarded)
    const unsent = owed.filter(({ waiting }) => waiting === undefined)
    if (unsent.length > 0) void this.#recovery.count(unsent, guard)
    owed[0]?.waiting?.push(guarded)
    return true
  }

  /** What a request waited for is counted. */
  goOn(guarded: GuardedRequest): void {
    const { request, guard, pending } = guarded
    if (this.#isAway(guard)) {
      this.#deadlines.remove(guarded)
      guarded.left()
      this.#without(request, guard, this.#reasonOf(guard), pending)
    } else if (!this.#isBehind(guarded)) this.#hand(guarded)
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
    const { ledger } = this.#fallback
    if (isForStore === true || this.#isClosed) return
    // What was given up as not counted has been.
    if (mode === 'reconcile') {
      this.#noted(request, result)
      ledger.reconciledLate(request)
    }
    const { granted, untilUs } = result
    // Whoever waits was given another turn, or none.
    if (request.maxWaitMs !== undefined && mode === 'consume') this.#cancel(request, result)
    else if (traitsOf(mode).takes) ledger.countedLate(chargeOf(request), granted, untilUs)
  }

  /** Nobody wants the turn that a reply gives. */
  #cancel(request: LayerRequest, result: StoreResult): void {
    if (result.granted === 0) return
    this.#unwanted.push(cancelling(request, result))
    if (this.#unwanted.length > 1) return
    // Of all replies of a turn of the event loop the last first, as later turns stand on earlier.
    this.#options.time.soon(() => {
      for (const cancel of this.#unwanted.splice(0).reverse()) this.#send(cancel, IGNORED, 'self')
    })
  }

  /** The store has said that it cannot decide, or cannot be asked. */
  failed(guarded: GuardedRequest, error: unknown): void {
    this.#deadlines.remove(guarded)
    const { request, sender, guard, pending, isSent } = guarded
    const failure = storeFailure(error, this.#backend.title)
    if (isMisuse(failure)) {
      pending.failed(failure)
      return
    }
    const { policySet, key } = request.target
    if (concernsNode(failure)) {
      if (sender !== 'recovery') this.#recovery.failed(guard, failure)
    } else this.events.emit('key-error', { limiter: policySet.name, key, cause: failure })
    this.#without(request, guard, failure, pending, isSent && !isRefusal(error))
  }

  /** The store has said nothing in time. */
  expired(guarded: GuardedRequest): void {
    this.failed(guarded, this.#timedOut())
  }

  #timedOut(): Error {
    return timedOut(this.#options.deadlineMs, this.#backend.title)
  }

  /** @param mayBeDone whether the store may have done it, though it has not said so */
  #without(
    request: LayerRequest,
    guard: Guard,
    cause: Error,
    pending: Pending,
    mayBeDone: boolean = false,
  ): void {
    const { mode, target } = request
    const waiting = pending instanceof UnderCeiling ? pending.withoutStore() : pending
    // These are about the store's own counters.
    if (mode === 'reset') this.#forget(target)
    if (isAboutStore(request)) {
      waiting.failed(this.#ownOf(cause, guard))
      return
    }
    const { state, probeAtMs } = guard.breaker
    this.#fellBack(request, cause)
    if (state !== 'open') this.#recovery.countSoon(guard)
    const retryAfterMs = state === 'open' ? probeAtMs - this.#options.time.nowMs() : 1_000
    const seen = this.#seenOf(target.policySet).get(target)
    const { takes, gives, givesOnly } = traitsOf(mode)
    // What a settlement gives back it gives back in the store alone; and what the store may have
    // given back is not given back a second time.
    const local =
      takes && gives ? chargeOf(request) : givesOnly && mayBeDone ? giftless(request) : request
    let result: StoreResult
    try {
      result = this.#fallback.decide(local, seen, cause, retryAfterMs)
    } catch (error) {
      waiting.failed(this.#ownOf(error, guard))
      return
    }
    waiting.decided(result)
  }

  #fellBack({ target }: LayerRequest, cause: Error): void {
    this.events.emit('fallback', { limiter: target.policySet.name, key: target.key, cause })
  }

  /** Remembers a result of the store, and restores what it shows to be lost. */
  #noted(request: LayerRequest, result: StoreResult): void {
    const { mode, target, costs } = request
    this.#hasAnswered = true
    if (mode === 'reset') return
    this.#fallback.noted(result.nowUs)
    // What takes nothing shows nothing new, and must not hide that a key was lost.
    let units = 0
    for (let i = 0; i < costs.length; i += 1) units += Math.abs(costs[i] as number)
    if (!traitsOf(mode).changes || units === 0 || target.policySet === PROBES) return
    const whole = request.keep === undefined ? result : wholeOf(request, result)
    const before = this.#seenOf(target.policySet).note(target, whole, mode)
    if (before === undefined || !this.#backend.recovers) return
    const restored: Pending = {
      decided: ({ granted }) => {
        const { name } = target.policySet
        if (granted > 0) this.events.emit('data-loss', { limiter: name, key: target.key })
      },
      // Nothing is sent again: up to one limit may then pass a second time.
      failed() {},
    }
    this.#send(restoring(target, before), restored, 'self')
  }

  #forget(target: Target): void {
    this.#seenOf(target.policySet).forget(target)
    this.#fallback.forget(target)
  }
}

/** Whose a request is: of a user, of what brings a node back, or of this layer. */
type Sender = 'user' | 'recovery' | 'self'

/** Whether a request concerns only what the store itself holds, so that nothing else answers it. */
function isAboutStore({ mode, isForStore }: LayerRequest): boolean {
  return isForStore === true || traitsOf(mode).isForStore
}

/** What a request charges, without what it gives back. */
function chargeOf({ target, costs, count, deadlineAtMs }: LayerRequest): LayerRequest {
  const charged = costs.map((cost) => Math.max(0, cost))
  return { mode: 'penalty', target, costs: charged, count, deadlineAtMs }
}

/** Of a refund nothing. */
function giftless({ target, costs, count }: LayerRequest): LayerRequest {
  return { mode: 'penalty', target, costs: costs.map(() => 0), count }
}

/** Gives back a turn that was reserved. */
function cancelling({ target, costs }: LayerRequest, result: StoreResult): LayerRequest {
  return { ...correctionOf('cancel', target, costs, result), isForStore: true }
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
class GuardedRequest implements Pending, Timed, Waiting {
  deadline: Deadline | undefined = undefined
  previous: Timed | undefined = undefined
  next: Timed | undefined = undefined
  isDone = false
  /** The store has been asked. */
  isSent = false
  readonly resilience: Resilience
  readonly request: LayerRequest
  readonly sender: Sender
  readonly guard: Guard
  readonly pending: Pending

  constructor(
    resilience: Resilience,
    request: LayerRequest,
    sender: Sender,
    guard: Guard,
    pending: Pending,
  ) {
    this.resilience = resilience
    this.request = request
    this.sender = sender
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

  /** What it waited for is counted, or cannot be. */
  counted(failure: Error | undefined): void {
    if (failure !== undefined || this.isDone) this.failed(failure)
    else this.resilience.goOn(this)
  }

  /** It is decided without the store, which was not asked. */
  left(): void {
    this.guard.inFlight -= 1
    this.isDone = true
  }

  expire(): void {
    this.isDone = true
    this.resilience.expired(this)
  }
}
