// The layer that decides in time, whatever the store does: a deadline for each request, a circuit
// breaker for each node, and a decision without the store where it cannot make one. It remembers
// what it last saw of each target. So an outage gives nobody a new budget, and losses.ts can
// restore what the store has lost. fallback.ts decides without the store; recovery.ts brings a node
// back.

import { traitsOf } from '../../algorithms/modes.js'
import { storeClosed } from '../../base/errors.js'
import type { Layer, LayerRequest, Pending } from '../../layer.js'
import type { StoreResult, Target } from '../../store.js'
import type { Backend } from './backend.js'
import { BEAT_SET, type Loss, lossOf } from './canary.js'
import { UnderCeiling } from './ceiling.js'
import { Deadlines } from './deadlines.js'
import { type Events, type EventsOptions, storeEvents } from './events.js'
import { concernsNode, isMisuse, isRefusal, notAsked, storeFailure, timedOut } from './failures.js'
import { chargeOf, Fallback, type FallbackOptions, isAboutStore, localRequest } from './fallback.js'
import { GuardedRequest, type Sender, type Sent } from './guarded-request.js'
import type { Seen } from './last-seen.js'
import { Losses } from './losses.js'
import { type Guard, Recovery } from './recovery.js'
import { SeenTargets } from './seen-targets.js'
import { type Status, statusOf } from './status.js'
import { type UnwantedTurns, unwantedTurns } from './unwanted-turns.js'

export interface ResilienceOptions extends FallbackOptions, EventsOptions {
  readonly deadlineMs: number
}

export class Resilience implements Layer, Sent {
  readonly events: Events
  readonly status: Status
  readonly #backend: Backend
  readonly #options: ResilienceOptions
  readonly #deadlines: Deadlines
  readonly #fallback: Fallback
  readonly #recovery: Recovery
  readonly #seen: SeenTargets
  readonly #unwanted: UnwantedTurns
  readonly #losses: Losses
  #hasAnswered = false
  #isClosed = false

  constructor(backend: Backend, options: ResilienceOptions) {
    const { time, deadlineMs } = options
    const events = storeEvents(backend.title, options)
    this.events = events
    this.#backend = backend
    this.#options = options
    this.#deadlines = new Deadlines(time, deadlineMs)
    this.#fallback = new Fallback(options)
    this.#seen = new SeenTargets(options.maxLocalKeys)
    const storeFor = (sender: Sender): Layer => ({
      ask: (request, pending) => this.#send(request, pending, sender),
    })
    this.#unwanted = unwantedTurns(storeFor('self'), time)
    this.#losses = new Losses(storeFor('self'), events)
    const { ledger } = this.#fallback
    const store = storeFor('recovery')
    this.#recovery = new Recovery(backend, ledger, { store, events, time })
    const { guardOf } = this.#recovery
    const hasAnswered = (): boolean => this.#hasAnswered
    this.status = statusOf(backend, guardOf, ledger, events, options, hasAnswered)
  }

  ask(request: LayerRequest, pending: Pending): void {
    const guard = this.#guardOf(request)
    if (this.#isAway(guard)) this.#without(request, guard, this.#reasonOf(guard), pending)
    else if (guard.breaker.state === 'half-open') this.#sendUnderCeiling(request, pending, guard)
    else if (!this.#joins(request, pending, guard)) this.#send(request, pending, 'user', guard)
  }

  /** Whether a request is decided together with an equal one that has yet to leave. */
  #joins(request: LayerRequest, pending: Pending, guard: Guard): boolean {
    if (this.#mayBeBehind(guard)) return false
    const equal = this.#backend.next.join?.(request)
    // What waits there was sent by this layer.
    ;(equal as GuardedRequest | undefined)?.join(pending)
    return equal !== undefined
  }

  /** Whether the store alone decides the requests of a target. */
  isCalm(target: Target): boolean {
    return this.#recovery.guardOf(this.#backend.nodes.of(target)).breaker.state === 'closed'
  }

  #sendUnderCeiling(request: LayerRequest, pending: Pending, guard: Guard): void {
    const { target } = request
    if (isAboutStore(request) || !this.#fallback.hasCeiling(target.policySet)) {
      this.#send(request, pending, 'user', guard)
      return
    }
    const seen = this.#seenOf(target)
    const isBefore = seen !== undefined && seen.nowUs <= guard.backUs
    const under = new UnderCeiling(this.#fallback, request, isBefore ? seen : undefined, pending)
    if (under.denial === undefined) this.#send(under.request, under, 'user', guard)
    else {
      this.#restoreUnsent(request, guard)
      this.#fellBack(request, this.#reasonOf(guard))
      pending.decided(under.denial)
    }
  }

  /** Whether users' requests must not be sent. */
  #isAway({ breaker }: Guard): boolean {
    return breaker.state === 'open' || this.#isClosed
  }

  #reasonOf(guard: Guard): Error {
    if (this.#isClosed) return storeClosed()
    guard.reason ??= this.#whyNotAsked(guard)
    return guard.reason
  }

  #whyNotAsked({ breaker, cause }: Guard): Error {
    return notAsked(breaker.state, cause, this.#backend.title)
  }

  /** The error for one request alone, a copy if it is shared: frameworks write to errors that they
   *  catch. */
  #ownOf(error: unknown, guard: Guard): unknown {
    return error === guard.reason ? this.#whyNotAsked(guard) : error
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
    if (this.#isUnready(guarded)) return
    if (sender === 'user') {
      if (this.#mayBeBehind(guard) && this.#isBehind(guarded)) return
      if (guard.pulse.holds(guarded)) {
        this.#limit(guarded)
        return
      }
    }
    this.#hand(guarded)
  }

  /** Whether a request fails at once: none is queued on a client that has lost its connection. */
  #isUnready(guarded: GuardedRequest): boolean {
    const reason = this.#backend.unready()
    if (reason === undefined) return false
    const { calls } = guarded.guard.node
    if (calls !== undefined) calls.notSent += 1
    guarded.failed(new Error(reason))
    return true
  }

  /** Hands a request to the store. */
  #hand(guarded: GuardedRequest): void {
    guarded.isSent = true
    if (guarded.sender === 'user') guarded.guard.pulse.isUsed = true
    this.#backend.next.ask(guarded.request, guarded)
    this.#limit(guarded)
  }

  /** A request's deadline begins when it arrives, whatever it waits for. */
  #limit(guarded: GuardedRequest): void {
    const { isOpen, deadline, request } = guarded
    if (isOpen && deadline === undefined) this.#deadlines.add(guarded, request.deadlineAtMs)
  }

  #mayBeBehind({ pulse }: Guard): boolean {
    return pulse.losses !== undefined || this.#fallback.ledger.keys > 0
  }

  /**
   * Whether a request must wait until the store has counted what was admitted here under a counter
   * that the request reads, or has what was seen of it and lost. Otherwise, the store would grant
   * those units again, or count them after a reset.
   */
  #isBehind(guarded: GuardedRequest): boolean {
    const { request, guard } = guarded
    if (request.isForStore === true || !this.#backend.recovers) return false
    const { ledger } = this.#fallback
    const lost = guarded.isRestored ? undefined : this.#lostOf(request.target, guard.pulse.losses)
    if (lost !== undefined) {
      ledger.suspect(request.target, lost)
      guarded.isRestored = true
    }
    const owed = ledger.owedBy(request.target)
    if (owed.length === 0) return false
    this.#limit(guarded)
    const unsent = owed.filter(({ waiting }) => waiting === undefined)
    if (unsent.length > 0) void this.#recovery.count(unsent, guard)
    owed[0]?.waiting?.push(guarded)
    return true
  }

  /** Restores what was seen of a target and lost, though its request is not sent: others would be
   *  granted it. */
  #restoreUnsent({ target, isForStore }: LayerRequest, guard: Guard): void {
    if (isForStore === true || !this.#backend.recovers) return
    const lost = this.#lostOf(target, guard.pulse.losses)
    if (lost === undefined) return
    const suspects = this.#fallback.ledger.suspect(target, lost)
    const unsent = suspects.filter(({ waiting }) => waiting === undefined)
    if (unsent.length > 0) void this.#recovery.count(unsent, guard)
  }

  /** What was last seen of a target, if its node may have lost that. */
  #lostOf(target: Target, losses: readonly Loss[] | undefined): Seen | undefined {
    if (losses === undefined) return undefined
    const seen = this.#seenOf(target)
    if (seen === undefined || lossOf(losses, seen.nowUs) === undefined) return undefined
    return isInUse(seen, target, this.#fallback.ledger.nowUs()) ? seen : undefined
  }

  goOn(guarded: GuardedRequest): void {
    const { request, guard, pending } = guarded
    if (this.#isAway(guard)) {
      this.#deadlines.remove(guarded)
      guarded.left()
      this.#without(request, guard, this.#reasonOf(guard), pending)
    } else if (!this.#isUnready(guarded) && !this.#isBehind(guarded)) this.#hand(guarded)
  }

  close(): void {
    this.#isClosed = true
    this.events.close()
    this.#recovery.close()
    this.#deadlines.close()
    // Decisions that are still under way are made without the store.
    this.#options.time.soon(() => this.#fallback.close())
  }

  decided(guarded: GuardedRequest, result: StoreResult, pending: Pending): void {
    const { request, guard, deadline, answered } = guarded
    // Of equal requests, the first shows what was lost, and the last what is left.
    const isNoted = answered === 1 || guarded.isAnswered
    const losses = guarded.sender === 'user' && !guarded.isRestored ? guard.pulse.losses : undefined
    const lost = isNoted ? this.#noted(request, result, losses) : undefined
    // Within the turn in which it was set, the deadline is not known yet.
    const atMs = Number.isFinite(deadline?.atMs) ? deadline?.atMs : undefined
    this.#deadlines.remove(guarded)
    guard.breaker.succeeded(result.granted > 0 && traitsOf(request.mode).changes)
    if (lost === undefined) {
      pending.decided(result)
      return
    }
    const loss = lossOf(losses, lost.nowUs) ?? shownBy(result)
    this.#losses.restoreAfter(request, result, lost, loss, atMs, pending, (error) => {
      this.#without(request, guard, error as Error, pending)
    })
  }

  decidedLate({ request }: GuardedRequest, result: StoreResult): void {
    const { mode, isForStore } = request
    const { ledger } = this.#fallback
    if (isForStore === true || this.#isClosed) return
    request.inStore?.(result)
    // The units were given up as not counted, but the store has counted them.
    if (mode === 'reconcile') {
      const lost = this.#noted(request, result)
      if (lost !== undefined) this.#losses.restore(request.target, lost, shownBy(result))
      ledger.reconciledLate(request)
    }
    ledger.settledLate(request)
    const { granted, untilUs } = result
    // The waiting call has been given another turn, or none.
    if (request.maxWaitMs !== undefined && mode === 'consume') this.#unwanted(request, result)
    else if (traitsOf(mode).takes)
      ledger.countedLate(chargeOf(request), granted, untilUs, traitsOf(mode).judges)
  }

  failed(guarded: GuardedRequest, error: unknown, pending: Pending): void {
    this.#deadlines.remove(guarded)
    const { request, sender, guard, isSent } = guarded
    const isRefused = isRefusal(error)
    this.#hasAnswered ||= isRefused
    const failure = storeFailure(error, this.#backend.title)
    if (isMisuse(failure)) {
      pending.failed(failure)
      return
    }
    const { policySet, key } = request.target
    if (concernsNode(failure)) {
      if (sender !== 'recovery') this.#recovery.failed(guard, failure)
    } else this.events.emit('key-error', { limiter: policySet.name, key, cause: failure })
    this.#without(request, guard, failure, pending, isSent && !isRefused)
  }

  expired(guarded: GuardedRequest, pending: Pending): void {
    this.failed(guarded, this.#timedOut(), pending)
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
    const { target } = request
    const waiting = pending instanceof UnderCeiling ? pending.withoutStore() : pending
    // Such requests concern the store's own counters, so nothing else can answer them.
    if (isAboutStore(request)) {
      waiting.failed(this.#ownOf(cause, guard))
      return
    }
    if (!mayBeDone) request.inStore?.(undefined)
    this.#fallback.ledger.owe(request)
    const { state, probeAtMs } = guard.breaker
    this.#fellBack(request, cause)
    if (state !== 'open') this.#recovery.countSoon(guard)
    const retryAfterMs = state === 'open' ? probeAtMs - this.#options.time.nowMs() : 1_000
    const seen = this.#seenOf(target)
    const local = localRequest(request, mayBeDone)
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

  #seenOf(target: Target): Seen | undefined {
    return this.#seen.of(target, this.#fallback.ledger.nowUs())
  }

  /** Remembers a result of the store. Returns what was seen before if the result shows its loss. */
  #noted(request: LayerRequest, result: StoreResult, losses?: readonly Loss[]): Seen | undefined {
    const { mode, target } = request
    this.#hasAnswered = true
    if (mode === 'reset') {
      this.#seen.forget(target)
      this.#fallback.forget(target)
      return undefined
    }
    this.#fallback.storeTime.noted(result.nowUs)
    if (target.policySet === BEAT_SET) return undefined
    if (traitsOf(mode).correction === 'unblock') this.#fallback.unblock(request)
    const before = this.#seen.noted(request, result, losses)
    return this.#backend.recovers ? before : undefined
  }
}

/** Whether anything that was seen of a target still counts. */
function isInUse({ remaining, untilUs, blocks }: Seen, target: Target, nowUs: number): boolean {
  if (blocks !== undefined) return true
  return target.policySet.policies.some(
    ({ limit }, i) => (remaining[i] as number) < limit && (untilUs[i] as number) > nowUs,
  )
}

/** The loss of a key that its own result shows. */
function shownBy({ nowUs }: StoreResult): Loss {
  return { sinceUs: nowUs, atUs: nowUs, isSure: true, isOfKey: true }
}
