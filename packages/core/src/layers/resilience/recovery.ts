// Brings a node back: probes it in the background with a real request on the write path, and when
// it answers, counts in it what was admitted locally meanwhile, before users' requests go there
// again.

import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.js'
import { memoized } from '../../base/cache.js'
import type { Time } from '../../base/time.js'
import { makePolicySet } from '../../request.js'
import type { PolicySet } from '../../store.js'
import { type Layer, type LayerRequest, promiseOf } from '../layer.js'
import type { Admitted } from './admitted.js'
import type { Backend, BackendNode } from './backend.js'
import { Breaker, type BreakerState } from './breaker.js'
import type { Events } from './events.js'
import { concernsNode } from './failures.js'
import type { Fallback } from './fallback.js'
import { restoring } from './last-seen.js'

export interface RecoveryOptions {
  /** Asks the store, in time and whatever a breaker says. */
  readonly store: Layer
  readonly events: Events
  readonly time: Time
}

/** A node, and how it is. */
export interface Guard {
  readonly node: BackendNode
  readonly breaker: Breaker
  /** What the last event said. */
  state: BreakerState
  /** Ends the wait for the next attempt; undefined: none is planned. */
  cancel: (() => void) | undefined
  /** An attempt is under way. */
  isTrying: boolean
  /** Requests that the store has not answered yet, in time or late. */
  inFlight: number
}

/**
 * Processes that lost a store together come back one after the other: each waits up to this long.
 */
const SPREAD_MS = 500
/** How long after a request that failed alone its node is asked to count it. */
const ALONE_MS = 500
/** How often to check whether the client is ready again. */
const UNREADY_MS = 50
/** Keys that are counted at once, at the most. The store serves others between one chunk and the
 *  next. */
const CHUNK = 100

const PROBE = fixedWindow({ name: 'probe', limit: 1, window: '1s' })
export const PROBES: PolicySet = makePolicySet('weir', [PROBE])

export class Recovery {
  readonly #backend: Backend
  readonly #fallback: Fallback
  readonly #options: RecoveryOptions
  readonly #guards: Guard[] = []
  #isClosed = false
  readonly guardOf: (node: BackendNode) => Guard = memoized((node) => {
    const breaker = new Breaker(this.#options.time.random)
    const start = { state: 'closed', cancel: undefined, isTrying: false, inFlight: 0 } as const
    const guard: Guard = { node, breaker, ...start }
    this.#guards.push(guard)
    return guard
  })

  constructor(backend: Backend, fallback: Fallback, options: RecoveryOptions) {
    this.#backend = backend
    this.#fallback = fallback
    this.#options = options
  }

  /** A request failed for a reason that concerns the whole node. */
  failed(guard: Guard, cause: unknown): void {
    guard.breaker.failed(this.#options.time.nowMs())
    this.#watch(guard, cause)
  }

  /** A request failed and was decided locally, though its node is well: has it counted there. */
  reconcileSoon(guard: Guard): void {
    this.#plan(guard, ALONE_MS)
  }

  close(): void {
    this.#isClosed = true
    for (const { cancel } of this.#guards) cancel?.()
  }

  /** Says if a breaker has changed, and sees to the next probe. */
  #watch(guard: Guard, cause?: unknown): void {
    const { breaker, node } = guard
    const { state, probeAtMs } = breaker
    if (state !== guard.state) {
      guard.state = state
      this.#options.events.emit('breaker', { node: node.name, state, cause })
      // What was planned while it was well gives way to the probe.
      guard.cancel?.()
      guard.cancel = undefined
    }
    if (state !== 'open') return
    const leastMs = this.#backend.unready() === undefined ? 0 : UNREADY_MS
    this.#plan(guard, Math.max(leastMs, probeAtMs - this.#options.time.nowMs()))
  }

  #plan(guard: Guard, waitMs: number): void {
    if (this.#isClosed || guard.isTrying || guard.cancel !== undefined) return
    guard.cancel = this.#options.time.after(waitMs, async () => {
      guard.cancel = undefined
      guard.isTrying = true
      // A client of a user's may throw where it should not; the next attempt finds out.
      await this.#try(guard).catch(() => {})
      guard.isTrying = false
      this.#watch(guard)
      if (guard.state === 'closed' && this.#due(guard).length > 0) this.reconcileSoon(guard)
    })
  }

  /** Probes a node, and counts what is to be counted there. */
  async #try(guard: Guard): Promise<void> {
    const { breaker, node } = guard
    // Nothing is sent, so this is no probe: the next one is made once the client is connected.
    if (this.#backend.unready() !== undefined) return
    const wasOpen = breaker.state === 'open'
    // Also of a node that is well. Replies come in order: those that were late, and show that a
    // request was counted, are here before this one.
    const target = { policySet: PROBES, key: this.#backend.nodes.keyOn(node) }
    const probe: LayerRequest = { mode: 'penalty', target, costs: [1], count: 1, isForStore: true }
    let [failure] = await this.#askAll([probe])
    if (wasOpen) this.#tried(guard, failure)
    const counted: Admitted[] = []
    if (breaker.state === 'half-open') {
      const { time } = this.#options
      const waitMs = this.#fallback.ledger.keys > 0 ? time.random() * SPREAD_MS : 0
      await new Promise<void>((resolve) => void time.after(waitMs, resolve))
      // Requests go on being decided locally while the first part is on its way; the second part is
      // what they took.
      for (let part = 0; part < 2; part += 1) failure ??= await this.#reconcile(guard, counted)
      this.#tried(guard, failure)
    }
    // What is left, or was taken during the second part. From now on the store decides.
    if (breaker.state === 'closed' && failure === undefined) await this.#reconcile(guard, counted)
    const keys = counted.length
    if (keys > 0) this.#options.events.emit('reconciled', { node: node.name, keys })
  }

  #tried(guard: Guard, failure: Error | undefined): void {
    guard.breaker.attempted(failure === undefined, this.#options.time.nowMs())
    this.#watch(guard, failure)
  }

  /** A key is counted with its node; or, if it moved to a node that is well, with the next one. */
  #due(guard: Guard): Admitted[] {
    return this.#fallback.ledger.due(({ target }) => {
      const home = this.guardOf(this.#backend.nodes.of(target))
      return home === guard || home.breaker.state === 'closed'
    })
  }

  /**
   * Counts all that is due, most units first. What cannot be counted is left for the next time.
   * @returns why the node cannot count it
   */
  async #reconcile(guard: Guard, counted: Admitted[]): Promise<Error | undefined> {
    const due = this.#due(guard)
    let failure: Error | undefined
    for (const each of due) each.isOnItsWay = true
    // Half of what may be in flight: the other half is for users' requests.
    const { maxInFlight = Number.POSITIVE_INFINITY } = this.#backend
    const chunk = Math.max(1, Math.min(CHUNK, Math.floor(maxInFlight / 2)))
    for (let from = 0; from < due.length && failure === undefined; from += chunk) {
      failure = await this.#count(due.slice(from, from + chunk), counted)
    }
    for (const each of due) each.isOnItsWay = false
    return failure
  }

  async #count(some: readonly Admitted[], counted: Admitted[]): Promise<Error | undefined> {
    if (!this.#backend.recovers) {
      for (const each of some) this.#fallback.ledger.giveUp(each)
      return undefined
    }
    // First what was last seen, in case it was lost: what was admitted since comes on top of it.
    const restored = await this.#askAll(
      some.map(({ target, seen }) => seen && restoring(target, seen)),
    )
    const rest = some.filter((_, i) => !concernsNode(restored[i]))
    const reconciled = await this.#askAll(
      rest.map(({ target, units, untilUs }): LayerRequest => {
        return { mode: 'reconcile', target, costs: [...units], count: 1, untilUs }
      }),
    )
    rest.forEach((admitted, i) => {
      if (reconciled[i] === undefined) counted.push(admitted)
      // A key that cannot be decided by itself would keep the whole node from coming back.
      else if (!concernsNode(reconciled[i])) this.#fallback.ledger.giveUp(admitted)
    })
    return [...restored, ...reconciled].find(concernsNode)
  }

  /** Why the store has not done each of these; undefined: it has, or there is nothing to do. */
  #askAll(requests: readonly (LayerRequest | undefined)[]): Promise<(Error | undefined)[]> {
    const done = requests.map(async (request) => {
      if (request === undefined) return undefined
      const result = await promiseOf(this.#options.store, request).catch((error: Error) => error)
      return result instanceof Error ? result : undefined
    })
    return Promise.all(done)
  }
}
