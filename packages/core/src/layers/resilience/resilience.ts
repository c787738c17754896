// The layer that decides in time, whatever the store does: a deadline for each request, a circuit
// breaker for each node, and a decision without the store where it cannot make one. It remembers
// what it last saw of each target, so that an outage gives nobody a new budget, and what the store
// has lost is restored: the first result that shows a loss is followed by one `restore`. Results
// already given stand, so what was in flight then may pass beyond the limit. What is decided
// without the store is in fallback.ts, by when-unavailable.ts; how a node comes back in
// recovery.ts.

import { memoized } from '../../base/cache.js'
import type { Clock } from '../../base/clock.js'
import { storeClosed } from '../../base/errors.js'
import { keyHash } from '../../base/key-hash.js'
import { idOf } from '../../base/key-text.js'
import type { Time } from '../../base/time.js'
import type { PolicySet, StoreResult, Target, WhenUnavailable } from '../../store.js'
import type { Layer, LayerRequest, Pending } from '../layer.js'
import type { Backend, BackendNode, StoreHealth } from './backend.js'
import { Deadlines, type Timed } from './deadlines.js'
import { warnWhenDegraded } from './degraded.js'
import type { Events } from './events.js'
import { concernsNode, isMisuse, storeFailure, timedOut } from './failures.js'
import { Fallback } from './fallback.js'
import { LastSeen, partOfSeen, restoring, type Seen } from './last-seen.js'
import type { Peers } from './peers.js'
import { type Guard, Recovery } from './recovery.js'
import { StoreClock } from './store-clock.js'
import { decideWithoutStore, localPart, localPartOfRequest } from './when-unavailable.js'

export interface ResilienceOptions {
  readonly deadlineMs: number
  readonly whenUnavailable: WhenUnavailable
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
  readonly peers: () => Peers
  readonly events: Events
  readonly time: Time
}

/** What is remembered of the targets of a policy set. */
interface Memory {
  /** Of all sets with as many policies; the salt tells this one's targets from theirs. */
  readonly seen: LastSeen
  readonly salt: number
}

export class Resilience implements Layer {
  readonly #backend: Backend
  readonly #options: ResilienceOptions
  readonly #clock: StoreClock
  readonly #deadlines: Deadlines
  readonly #fallback: Fallback
  readonly #recovery: Recovery
  readonly #endWarnings: () => void
  readonly #seenBySize: Map<number, LastSeen> = new Map()
  readonly #memoryOf: (policySet: PolicySet) => Memory = memoized((policySet) => {
    const size = policySet.policies.length
    const seen = this.#seenBySize.get(size) ?? new LastSeen(size)
    this.#seenBySize.set(size, seen)
    return { seen, salt: saltOf(policySet) }
  })
  readonly #guardOf: (node: BackendNode) => Guard = memoized((node) => this.#recovery.guardOf(node))
  #hasAnswered = false
  #isClosed = false

  constructor(backend: Backend, options: ResilienceOptions) {
    const { time, deadlineMs, clock, peers, events, whenUnavailable } = options
    this.#backend = backend
    this.#options = options
    this.#clock = new StoreClock(time)
    this.#deadlines = new Deadlines(time, deadlineMs)
    this.#fallback = new Fallback({ clock: clock ?? this.#clock, peers, time })
    this.#recovery = new Recovery(backend, this.#fallback, {
      deadlineMs,
      events,
      time,
      answered: (request, result) => this.#noted(request, result),
    })
    this.#endWarnings = warnWhenDegraded(events, backend.title, whenUnavailable, time)
  }

  ask(request: LayerRequest, pending: Pending): void {
    const { next, nodes, connection } = this.#backend
    const guarded = new GuardedRequest(this, request, pending)
    const guard = this.#guardOf(nodes.of(request.target))
    guarded.guard = guard
    const isUsable = guard.breaker.state === 'closed' && !this.#isClosed
    if (!isUsable || connection.unready() !== undefined) {
      this.#without(request, guard, this.#problemOf(guard), pending)
      return
    }
    const { deadlineAtMs } = request
    if (deadlineAtMs !== undefined && deadlineAtMs <= this.#options.time.nowMs()) {
      this.#without(request, guard, this.#timedOut(), pending)
      return
    }
    if (request.mode === 'reset') this.#forget(request.target)
    next.ask(request, guarded)
    if (!guarded.isDone) this.#deadlines.add(guarded)
  }

  health(): StoreHealth {
    const nodes = this.#backend.nodes.all.map((node) => {
      const { breaker } = this.#guardOf(node)
      return { name: node.name, state: breaker.state, inFlight: node.inFlight }
    })
    const worst =
      nodes.find(({ state }) => state === 'open') ??
      nodes.find(({ state }) => state === 'half-open')
    return {
      state: this.#hasAnswered ? (worst?.state ?? 'closed') : 'never-connected',
      nodes,
      instances: this.#options.peers().count,
      localKeys: this.#fallback.keys,
    }
  }

  close(): void {
    this.#isClosed = true
    // What ends because of it is no news.
    this.#options.events.clear()
    this.#endWarnings()
    this.#recovery.close()
    this.#deadlines.close()
    // The rest of decisions that were under way is made without the store.
    this.#options.time.soon(() => this.#fallback.close())
  }

  /** The store has decided in time. */
  decided(guarded: GuardedRequest, result: StoreResult): void {
    this.#noted(guarded.request, result)
    this.#deadlines.remove(guarded)
    guarded.guard?.breaker.succeeded()
    guarded.pending.decided(result)
  }

  /** The store has decided what was decided without it before. */
  decidedLate({ request }: GuardedRequest, { granted }: StoreResult): void {
    const { mode, isForStore } = request
    if (mode !== 'consume' && mode !== 'penalty' && mode !== 'refund') return
    if (isForStore === true) return
    // What the store has given back must not be given back a second time either.
    const times = mode === 'refund' ? -granted : granted
    const part = localPartOfRequest(request, this.#options.whenUnavailable)
    this.#fallback.countedAfterAll(part, times)
  }

  /** The store has said that it cannot decide. */
  failed(guarded: GuardedRequest, error: unknown): void {
    this.#deadlines.remove(guarded)
    const { request, pending } = guarded
    const guard = guarded.guard as Guard
    const failure = storeFailure(error, this.#backend.title)
    if (isMisuse(failure)) {
      pending.failed(failure)
      return
    }
    const { name } = request.target.policySet
    if (concernsNode(failure)) this.#recovery.failed(guard, failure)
    else {
      const { key } = request.target
      this.#options.events.emit('key-error', { limiter: name, key, cause: failure })
    }
    this.#without(request, guard, failure, pending)
  }

  /** The store has said nothing in time. */
  expired({ request, pending, guard }: GuardedRequest): void {
    const failure = this.#timedOut()
    this.#recovery.failed(guard as Guard, failure)
    this.#without(request, guard as Guard, failure, pending)
  }

  #timedOut(): Error {
    return timedOut(this.#options.deadlineMs, this.#backend.title)
  }

  /** Why a node cannot be asked. A client that has lost its connection is not queued on. */
  #problemOf(guard: Guard): Error {
    const { state } = guard.breaker
    if (this.#isClosed) return storeClosed()
    if (state !== 'closed') {
      this.#recovery.watch(guard)
      return storeFailure(new Error(`its circuit breaker is ${state}`), this.#backend.title)
    }
    const reason = new Error(this.#backend.connection.unready())
    const problem = storeFailure(reason, this.#backend.title)
    this.#recovery.failed(guard, problem)
    return problem
  }

  #without(request: LayerRequest, guard: Guard, cause: Error, pending: Pending): void {
    const { mode, target, isForStore } = request
    // These are about the store's own counters.
    if (mode === 'reset') this.#forget(target)
    if (mode === 'reset' || mode === 'reconcile' || mode === 'restore' || isForStore === true) {
      pending.failed(cause)
      return
    }
    const { events, time, whenUnavailable } = this.#options
    const { state, probeAtMs } = guard.breaker
    events.emit('fallback', { limiter: target.policySet.name, key: target.key, cause })
    if (state === 'closed') this.#recovery.reconcileSoon(guard)
    let result: StoreResult
    try {
      result = decideWithoutStore(request, {
        whenUnavailable,
        cause,
        retryAfterMs: state === 'open' ? probeAtMs - time.nowMs() : 1_000,
        local: (part, places) => {
          return this.#fallback.decide(part, this.#lastSeen(target, part.target, places))
        },
      })
    } catch (error) {
      pending.failed(error)
      return
    }
    pending.decided(result)
  }

  /** What was last seen of the policies at these places: with the others, or by themselves. */
  #lastSeen(whole: Target, part: Target, places: readonly number[]): Seen | undefined {
    const seen = this.#seenOf(whole)
    if (part === whole) return seen
    const alone = this.#seenOf(part)
    if (alone !== undefined && (seen === undefined || alone.nowUs > seen.nowUs)) return alone
    return seen && partOfSeen(seen, places)
  }

  #seenOf(target: Target): Seen | undefined {
    const { seen, salt } = this.#memoryOf(target.policySet)
    return seen.get(idOf(target), salt)
  }

  /** Remembers a result of the store, and restores what it shows to be lost. */
  #noted(request: LayerRequest, result: StoreResult): void {
    const { mode, target, costs } = request
    this.#hasAnswered = true
    if (mode === 'reset') return
    this.#clock.noted(result.nowUs)
    // What takes nothing shows nothing new, and must not hide that a key was lost.
    let units = 0
    for (let i = 0; i < costs.length; i += 1) units += costs[i] as number
    if (mode === 'peek' || units === 0) return
    const { seen, salt } = this.#memoryOf(target.policySet)
    const before = seen.note(idOf(target), salt, result, mode)
    if (before === undefined || !this.#backend.recovers) return
    this.#backend.next.ask(restoring(target, before), {
      decided: (restored) => {
        seen.note(idOf(target), salt, restored, 'restore')
        const { name } = target.policySet
        if (restored.granted === 0) return
        this.#options.events.emit('data-loss', { limiter: name, key: target.key })
      },
      // Nothing is sent again: up to one limit may then pass a second time.
      failed() {},
    })
  }

  #forget(target: Target): void {
    const part = localPart(target, this.#options.whenUnavailable)
    for (const each of part === target ? [target] : [target, part]) {
      const { seen, salt } = this.#memoryOf(each.policySet)
      seen.forget(idOf(each), salt)
    }
    this.#fallback.forget(part)
  }
}

/** A request on its way to the store. */
class GuardedRequest implements Pending, Timed {
  deadlineAtMs: number
  previous: Timed | undefined = undefined
  next: Timed | undefined = undefined
  isDone = false
  guard: Guard | undefined = undefined
  readonly request: LayerRequest
  readonly pending: Pending
  readonly resilience: Resilience

  constructor(resilience: Resilience, request: LayerRequest, pending: Pending) {
    this.resilience = resilience
    this.request = request
    this.pending = pending
    this.deadlineAtMs = request.deadlineAtMs ?? Number.POSITIVE_INFINITY
  }

  decided(result: StoreResult): void {
    if (this.isDone) {
      this.resilience.decidedLate(this, result)
      return
    }
    this.isDone = true
    this.resilience.decided(this, result)
  }

  failed(error: unknown): void {
    if (this.isDone) return
    this.isDone = true
    this.resilience.failed(this, error)
  }

  expire(): void {
    this.isDone = true
    this.resilience.expired(this)
  }
}

/** Tells the targets of a set from those of others; equal sets have the same, whenever made. */
function saltOf({ name, policies }: PolicySet): number {
  keyHash.hash(JSON.stringify([name, ...policies.map(({ signature }) => signature)]))
  return keyHash.low
}
