// Brings a node back: probes it in the background with a real request on the write path. When it
// answers, users' requests go there again, each after what was admitted locally under its counters
// has been counted there; the rest is counted in the background.

import { memoized } from '../../base/cache.js'
import type { Time } from '../../base/time.js'
import { type Layer, type LayerRequest, promiseOf } from '../../layer.js'
import type { RestoreRequest, StoreResult } from '../../store.js'
import { type Admitted, ROUNDING, type Waiting } from './admitted.js'
import type { Backend, BackendNode } from './backend.js'
import { Breaker, type BreakerState, RETURN_MS } from './breaker.js'
import { Canary, type Loss, lossOf, withLoss } from './canary.js'
import type { Events } from './events.js'
import { concernsNode } from './failures.js'
import type { Ledger } from './ledger.js'
import { tellsLosses } from './restoring.js'

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
  /** The state that the last event named. */
  state: BreakerState = 'closed'
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
  /** What the node may have lost; undefined: nothing. */
  losses: readonly Loss[] | undefined = undefined
  /** A user's request was sent since the last beat. */
  isUsed = false
  /** The next request is to be sent behind a beat. */
  isBeatDue = false
  /** Cancels the timer of the next beat; undefined: none was ever set. */
  cancelBeat: (() => void) | undefined = undefined
  /** See `Backend.lineTo`: on which line the last beat was sent, and on which one was answered. */
  sentLine: unknown = undefined
  line: unknown = undefined
  /** It failed since the last beat was answered. */
  wasAway = false
  /** Requests that wait until a beat is answered; undefined: none does. */
  held: Waiting[] | undefined = undefined

  constructor(node: BackendNode, random: () => number) {
    this.node = node
    this.breaker = new Breaker(random)
  }
}

/** Processes that lost a store together count in it at different times: each waits up to this
 *  long. */
const SPREAD_MS = 500
/** How often to check whether the client is ready again. */
const UNREADY_MS = 50
/** The most keys that are counted at once. Between two chunks, the store serves others. */
const CHUNK = 100
/** How often a node that is used gets a beat. */
const BEAT_MS = 3_000

export class Recovery {
  readonly #backend: Backend
  readonly #ledger: Ledger
  readonly #options: RecoveryOptions
  readonly #guards: Guard[] = []
  /** Nodes that the client knew when one of them was lost. */
  readonly #knownBefore: WeakSet<BackendNode> = new WeakSet()
  /** This process's numbers, by their keys: a node that takes over slots has the numbers of the one
   *  before. */
  readonly #canaries: Map<string, Canary> = new Map()
  /** The beginning of their keys. */
  #beginning: string | undefined
  #isClosed = false
  readonly guardOf: (node: BackendNode) => Guard = memoized((node) => {
    const guard = new Guard(node, this.#options.time.random)
    const isOutage = this.#guards.some(({ breaker }) => breaker.state !== 'closed')
    if (isOutage && !this.#knownBefore.has(node)) this.#takesOver(guard)
    this.#guards.push(guard)
    return guard
  })

  constructor(backend: Backend, ledger: Ledger, options: RecoveryOptions) {
    this.#backend = backend
    this.#ledger = ledger
    this.#options = options
  }

  /**
   * Sends a beat before a user's request, if one is due.
   * @returns whether the request waits for the answer, as the node may have been away
   */
  holds(guard: Guard, waiting: Waiting): boolean {
    if (!this.#backend.recovers) return false
    if (guard.held !== undefined) {
      guard.held.push(waiting)
      return true
    }
    const line = this.#backend.lineTo?.(guard.node)
    guard.line ??= line
    guard.sentLine ??= line
    const isNew = guard.sentLine !== line
    if (guard.cancelBeat === undefined) this.#beatLater(guard)
    else if (guard.isBeatDue || isNew) {
      const answered = this.#beat(guard)
      if (!isNew && !guard.wasAway) return false
      guard.held = [waiting]
      void answered.then(() => {
        const { held = [] } = guard
        guard.held = undefined
        for (const each of held) each.counted(undefined)
      })
      return true
    }
    return false
  }

  #beatLater(guard: Guard): void {
    guard.isBeatDue = false
    guard.cancelBeat?.()
    if (this.#isClosed) return
    guard.cancelBeat = this.#options.time.after(BEAT_MS, () => {
      // A process that is idle tells no beats.
      if (guard.isUsed && guard.state !== 'open') void this.#beat(guard)
      else guard.isBeatDue = true
    })
  }

  /** Tells a node a beat, which shows whether it has lost anything. Requests that are sent
   *  afterwards are answered afterwards. Returns why there is no answer. */
  #beat(guard: Guard): Promise<Error | undefined> {
    const line = this.#backend.lineTo?.(guard.node)
    guard.sentLine = line
    // On the same line there is the same server. Where lines are not known, it may be another one.
    const mayBeAnother = line === undefined ? guard.wasAway : line !== guard.line
    guard.isUsed = false
    this.#beatLater(guard)
    const canary = this.#canaryOf(guard)
    return new Promise((resolve) => {
      const decided = (result: StoreResult): void => {
        guard.line = line
        guard.wasAway = false
        const { lastUs } = canary
        let loss = canary.heard(result)
        // On the same line, a number that begins anew was evicted.
        if (line !== undefined && !mayBeAnother && loss?.sinceUs === 0) loss = undefined
        // No beat tells what was lost since the last one.
        if (mayBeAnother) loss ??= { sinceUs: lastUs, atUs: result.nowUs, isSure: false }
        if (loss !== undefined) guard.losses = withLoss(guard.losses, loss)
        resolve(undefined)
      }
      const failed = (error: unknown): void => resolve(error as Error)
      this.#options.store.ask(canary.beat(), { decided, failed })
    })
  }

  #canaryOf({ node }: Guard): Canary {
    this.#beginning ??= `beat-${this.#options.time.random().toString(36).slice(2)}-`
    const key = this.#backend.nodes.keyOn(node, this.#beginning)
    let canary = this.#canaries.get(key)
    if (canary === undefined) {
      canary = new Canary(key)
      this.#canaries.set(key, canary)
    }
    return canary
  }

  /** A request failed for a reason that concerns the whole node. */
  failed(guard: Guard, cause: unknown): void {
    guard.breaker.failed(this.#options.time.nowMs())
    guard.isBeatDue = true
    guard.wasAway = true
    this.#watch(guard, cause)
  }

  /** Something was decided locally that is to be counted in a node that is well. */
  countSoon(guard: Guard): void {
    guard.isOwed = true
    this.#plan(guard, this.#options.time.random() * SPREAD_MS)
  }

  close(): void {
    this.#isClosed = true
    for (const { cancel, cancelReturn, cancelBeat } of this.#guards) {
      cancel?.()
      cancelReturn?.()
      cancelBeat?.()
    }
  }

  /** Reports a breaker's new state, and does what follows from it. */
  #watch(guard: Guard, cause?: unknown): void {
    const { breaker, node } = guard
    const { state, probeAtMs } = breaker
    if (state !== guard.state) {
      guard.state = state
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
    guard.isBeatDue = true
    guard.wasAway = true
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
    const failure = await this.#beat(guard)
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
    for (const each of some) each.waiting = []
    // Replies come in order. So late replies, which show that a failed request was counted after
    // all, arrive before the reply to a beat.
    const beats = new Map<Guard, Promise<Error | undefined>>()
    for (const each of this.#backend.recovers ? some : []) {
      const home = this.#homeOf(each)
      if (!beats.has(home)) beats.set(home, this.#beat(home))
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
    if (!this.#backend.recovers) {
      this.#ledger.forget(admitted)
      return undefined
    }
    const units = admitted.wholeUnits
    let failure = unrestored
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
    if (admitted.units < ROUNDING) this.#ledger.forget(admitted)
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
    const { losses } = this.#homeOf(admitted)
    const last = losses?.at(-1)
    const isRestored = last === undefined || admitted.restoredUs >= last.atUs
    if (isRestored || !this.#backend.recovers) return undefined
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
    const request: RestoreRequest = { ...(loss ? seen : none), lossUs: loss?.sinceUs ?? sinceUs }
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
