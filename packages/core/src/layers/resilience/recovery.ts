// Brings a node back: probes it in the background with a real request on the write path. When it
// answers, users' requests go there again, each after what was admitted locally under its counters
// has been counted there; the rest is counted in the background.

import { memoized } from '../../base/cache.js'
import type { Time } from '../../base/time.js'
import { type Layer, type LayerRequest, promiseOf } from '../../layer.js'
import type { RestoreRequest } from '../../store.js'
import type { Admitted } from './admitted.js'
import type { Backend, BackendNode } from './backend.js'
import { Breaker, type BreakerState, RETURN_MS } from './breaker.js'
import { Canaries, type Loss, lossOf } from './canary.js'
import type { Events } from './events.js'
import { concernsNode } from './failures.js'
import type { Ledger } from './ledger.js'
import { Pulse, type PulseOptions } from './pulse.js'
import { isRestoredAfter, tellsLosses } from './restoring.js'

export interface RecoveryOptions {
  /** Asks the store, with a deadline, whatever a breaker says. It reports no failures to breakers:
   *  this class does. */
  readonly store: Layer
  readonly events: Events
  readonly time: Time
}

/** A node and its state. */
export class Guard {
  readonly node: BackendNode
  readonly breaker: Breaker
  readonly pulse: Pulse
  /** The state that the last event named. */
  state: BreakerState = 'closed'
  /** Since when that has not been `closed`, in us since the Unix epoch; undefined: it is. */
  awaySinceUs: number | undefined = undefined
  /** How it failed last. */
  cause: unknown = undefined
  /** Why it is not asked: one error for all decisions, since making one, with a stack, takes longer
   *  than the decision. Undefined: the state or the cause has changed since. */
  reason: Error | undefined = undefined
  /** Cancels the next attempt; undefined: none is planned. */
  cancel: (() => void) | undefined = undefined
  /** When it last came back, by the store's clock. */
  backUs = 0
  /** Cancels the timer that closes the breaker; undefined: none was ever set. */
  cancelReturn: (() => void) | undefined = undefined
  /** An attempt is under way. */
  isTrying = false
  /** Something may be left to be counted in it. */
  isOwed = false
  /** How many keys were counted in it since the last `reconciled` event. */
  counted = 0
  /** Requests that the store has not answered yet, even after their deadline. */
  inFlight = 0

  constructor(node: BackendNode, breaker: Breaker, pulse: Pulse) {
    this.node = node
    this.breaker = breaker
    this.pulse = pulse
  }
}

/** Processes that lost a store together count in it at different times: each waits up to this
 *  long. */
const SPREAD_MS = 500
/** How often to check whether the client is ready again. */
const UNREADY_MS = 50
/** The most keys that are counted at once. Between two chunks, the store serves others. */
const CHUNK = 100

export class Recovery {
  readonly #backend: Backend
  readonly #ledger: Ledger
  readonly #options: RecoveryOptions
  readonly #pulses: Omit<PulseOptions, 'isAway'>
  readonly #guards: Guard[] = []
  /** Nodes that the client knew when one of them was lost. */
  readonly #knownBefore: WeakSet<BackendNode> = new WeakSet()
  #isClosed = false
  readonly guardOf: (node: BackendNode) => Guard = memoized((node) => {
    const breaker = new Breaker(this.#options.time.random)
    const isAway = (): boolean => breaker.state === 'open'
    const guard = new Guard(node, breaker, new Pulse(node, { ...this.#pulses, isAway }))
    const isOutage = this.#guards.some(({ breaker }) => breaker.state !== 'closed')
    if (isOutage && !this.#knownBefore.has(node)) this.#takesOver(guard)
    this.#guards.push(guard)
    return guard
  })

  constructor(backend: Backend, ledger: Ledger, options: RecoveryOptions) {
    this.#backend = backend
    this.#ledger = ledger
    this.#options = options
    const { store, time } = options
    const canaries = new Canaries(backend.nodes, time)
    this.#pulses = { backend, store, time, canaryOf: (node) => canaries.of(node) }
  }

  /** A request failed for a reason that concerns the whole node. */
  failed(guard: Guard, cause: unknown): void {
    guard.breaker.failed(this.#options.time.nowMs())
    guard.pulse.failed()
    this.#watch(guard, cause)
  }

  /** Something was decided locally that is to be counted in a node that is well. */
  countSoon(guard: Guard): void {
    guard.isOwed = true
    this.#plan(guard, this.#options.time.random() * SPREAD_MS)
  }

  close(): void {
    this.#isClosed = true
    for (const { cancel, cancelReturn, pulse } of this.#guards) {
      cancel?.()
      cancelReturn?.()
      pulse.close()
    }
  }

  /** Reports a breaker's new state, and does what follows from it. */
  #watch(guard: Guard, cause?: unknown): void {
    const { breaker, node } = guard
    const { state, probeAtMs } = breaker
    guard.cause = cause ?? guard.cause
    guard.reason = undefined
    if (state !== guard.state) {
      guard.state = state
      guard.awaySinceUs =
        state === 'closed' ? undefined : (guard.awaySinceUs ?? this.#options.time.nowUs())
      this.#options.events.emit('breaker', { node: node.name, state, cause })
      if (state === 'half-open') this.#isBack(guard)
      if (state === 'open') {
        // An attempt planned while the node was well gives way to the probe.
        guard.cancel?.()
        guard.cancel = undefined
        guard.cancelReturn?.()
        for (const each of this.#backend.nodes.all) this.#knownBefore.add(each)
      }
    }
    if (state === 'open') this.#plan(guard, probeAtMs - this.#options.time.nowMs())
  }

  /** A node that appears while another one is away may have taken over its keys. Peers that do not
   *  know the node yet still grant their local quotas of these keys. */
  #takesOver(guard: Guard): void {
    const { time } = this.#options
    guard.breaker.returned(time.nowMs())
    guard.pulse.failed()
    guard.backUs = this.#ledger.nowUs()
    // Later: listeners may ask for the guard, which is not known yet.
    time.soon(() => this.#watch(guard))
  }

  #isBack(guard: Guard): void {
    guard.isOwed = true
    guard.backUs = this.#ledger.nowUs()
    if (this.#isClosed) return
    guard.cancelReturn = this.#options.time.after(RETURN_MS, () => {
      guard.breaker.close()
      this.#watch(guard)
    })
  }

  #plan(guard: Guard, waitMs: number): void {
    if (this.#isClosed || guard.isTrying || guard.cancel !== undefined) return
    const leastMs = this.#backend.unready() === undefined ? 0 : UNREADY_MS
    guard.cancel = this.#options.time.after(Math.max(leastMs, waitMs), async () => {
      guard.cancel = undefined
      guard.isTrying = true
      // A user's client may throw where it should not; there is another attempt later.
      await this.#try(guard).catch(() => {})
      guard.isTrying = false
      this.#watch(guard)
      if (guard.state !== 'open' && guard.isOwed) this.countSoon(guard)
    })
  }

  /** Probes a node that is away; counts what is to be counted in one that is not. */
  async #try(guard: Guard): Promise<void> {
    const { breaker } = guard
    // Nothing is sent, so this is not a probe: the next one is made once the client is connected.
    if (this.#backend.unready() !== undefined) return
    if (breaker.state !== 'open') {
      await this.#countAll(guard)
      return
    }
    const failure = await guard.pulse.beat()
    breaker.probed(failure === undefined, this.#options.time.nowMs())
    this.#watch(guard, failure)
  }

  /** Counts all that is due, most units first. What cannot be counted is left for the next time. */
  async #countAll(guard: Guard): Promise<void> {
    guard.isOwed = false
    // Counts the keys of this node, and those of all other nodes that are not away.
    const isOfGuard = (admitted: Admitted): boolean => {
      const home = this.#homeOf(admitted)
      return home === guard || home.breaker.state !== 'open'
    }
    for (const due of await this.#ledger.due(isOfGuard, this.#pause)) {
      if (!(await this.#countDue(due, guard))) break
    }
    const { node, counted } = guard
    guard.counted = 0
    if (counted > 0) this.#options.events.emit('reconciled', { node: node.name, keys: counted })
  }

  #homeOf({ target }: Admitted): Guard {
    return this.guardOf(this.#backend.nodes.of(target))
  }

  /** Counts one chunk after the other. Returns whether the node can count more. */
  async #countDue(due: readonly Admitted[], guard: Guard): Promise<boolean> {
    // Half of what may be in flight: the other half is for users' requests.
    const { maxInFlight = Number.POSITIVE_INFINITY } = this.#backend
    const chunk = Math.max(1, Math.min(CHUNK, Math.floor(maxInFlight / 2)))
    for (let from = 0; from < due.length; from += chunk) {
      if (guard.breaker.state === 'open') return false
      guard.isOwed = true
      // Requests may have had some of them counted meanwhile.
      const some = due
        .slice(from, from + chunk)
        .filter((each) => each.isOwed && each.waiting === undefined)
      if ((await this.count(some, guard)) !== undefined) return false
      // Otherwise, a store that answers at once would count all of them in one step.
      await this.#pause()
    }
    return true
  }

  readonly #pause = (): Promise<void> =>
    new Promise((resolve) => void this.#options.time.soon(resolve))

  /**
   * Counts in the store what was admitted under some counters, then lets the requests that wait for
   * it go on.
   * @returns why the node cannot count it
   */
  async count(some: readonly Admitted[], guard: Guard): Promise<Error | undefined> {
    if (!this.#backend.recovers) {
      for (const each of some) this.#ledger.forget(each)
      return undefined
    }
    for (const each of some) each.waiting = []
    // Replies come in order. So late replies, which show that a failed request was counted after
    // all, arrive before the reply to a beat.
    const beats = new Map<Guard, Promise<Error | undefined>>()
    for (const each of some) {
      const home = this.#homeOf(each)
      if (!beats.has(home)) beats.set(home, home.pulse.beat())
    }
    const unanswered = new Map<Guard, Error | undefined>()
    for (const [home, beat] of beats) unanswered.set(home, await beat)
    // What may be lost is restored before anything is counted: what was admitted since adds to it.
    const restored = await Promise.all(
      some.map((each) => this.#restored(each, unanswered.get(this.#homeOf(each)))),
    )
    const failures = await Promise.all(some.map((each, i) => this.#count(each, guard, restored[i])))
    some.forEach((each, i) => {
      const waiting = each.waiting ?? []
      const failure = failures[i]
      each.waiting = undefined
      // If requests wait, each of them reports the failure.
      if (failure !== undefined && waiting.length === 0) this.failed(this.#homeOf(each), failure)
      for (const one of waiting) one.counted(failure)
    })
    const failure = failures.find((each) => each !== undefined)
    // Something may have been admitted under one of them meanwhile.
    if (guard.breaker.state !== 'open' && some.some(({ isOwed }) => isOwed)) this.countSoon(guard)
    return failure
  }

  /** @param unrestored why what was seen could not be restored first */
  async #count(
    admitted: Admitted,
    guard: Guard,
    unrestored: Error | undefined,
  ): Promise<Error | undefined> {
    const units = admitted.wholeUnits
    let failure = unrestored
    for (const [of, settlement] of [...admitted.settlements]) {
      if (concernsNode(failure)) break
      failure = await this.#failureOf(settlement)
      if (!concernsNode(failure)) admitted.settlements.delete(of)
    }
    // Late replies may have shown that all of it is counted.
    if (units > 0 && !concernsNode(failure)) {
      const { target, untilUs } = admitted
      const until = untilUs === undefined ? undefined : [untilUs]
      const reconcile = { mode: 'reconcile', target, costs: [units], count: 1 } as const
      const request = { ...reconcile, untilUs: until }
      failure = await this.#failureOf(request)
      if (failure === undefined) {
        guard.counted += 1
        this.#ledger.counted(admitted, request)
      }
    }
    admitted.isSuspect = false
    if (!admitted.isUncounted) this.#ledger.forget(admitted)
    if (concernsNode(failure)) return failure
    // Only this key cannot be decided. If it stayed owed, no request for it would reach the store
    // again.
    if (failure !== undefined) {
      admitted.units = 0
      this.#ledger.forget(admitted)
    }
    return undefined
  }

  /** Restores what was seen under a counter, if it may be lost. Returns why it could not. */
  async #restored(admitted: Admitted, unanswered: Error | undefined): Promise<Error | undefined> {
    if (concernsNode(unanswered)) return unanswered
    const { losses } = this.#homeOf(admitted).pulse
    const last = losses?.at(-1)
    if (last === undefined || admitted.restoredUs >= last.atUs) return undefined
    const failure = await this.#restore(admitted, losses ?? [], last)
    if (failure === undefined) admitted.restoredUs = last.atUs
    return failure
  }

  /** Where nothing was seen, this tells the store that what it holds was not lost. */
  async #restore(
    { seen, target }: Admitted,
    losses: readonly Loss[],
    { sinceUs, isSure }: Loss,
  ): Promise<Error | undefined> {
    const none = { mode: 'restore', target, costs: [0], count: 1, seenUs: sinceUs + 1 } as const
    const loss = seen && lossOf(losses, seen.seenUs ?? 0)
    const isRestored =
      loss && target.policySet.policies.every((each) => isRestoredAfter(loss, each))
    const given = isRestored ? seen : none
    const request: RestoreRequest = { ...given, lossUs: loss?.sinceUs ?? sinceUs }
    try {
      const { granted } = await promiseOf(this.#options.store, { ...request, isForStore: true })
      const { policySet, key } = target
      if (granted > 0 && (isSure || policySet.policies.every(tellsLosses)))
        this.#options.events.emit('data-loss', { limiter: policySet.name, key })
      return undefined
    } catch (error) {
      return error as Error
    }
  }

  /** Why the store has not done this; undefined: it has. */
  #failureOf(request: LayerRequest): Promise<Error | undefined> {
    const decided = promiseOf(this.#options.store, request)
    return decided.then(
      () => undefined,
      (error: Error) => error,
    )
  }
}
