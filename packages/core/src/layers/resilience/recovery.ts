// Brings a node back: probes it in the background with a real request on the write path, and when
// it answers, counts in it what was admitted locally meanwhile, before users' requests go there
// again.

import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.js'
import type { Time } from '../../base/time.js'
import { makePolicySet } from '../../request.js'
import type { StoreResult } from '../../store.js'
import type { LayerRequest } from '../layer.js'
import type { Backend, BackendNode } from './backend.js'
import { Breaker, type BreakerState } from './breaker.js'
import type { Events } from './events.js'
import { concernsNode, storeFailure, timedOut } from './failures.js'
import type { Admitted, Fallback } from './fallback.js'
import { restoring } from './last-seen.js'

export interface RecoveryOptions {
  readonly deadlineMs: number
  readonly events: Events
  readonly time: Time
  /** The store has counted what was admitted locally. */
  readonly answered: (request: LayerRequest, result: StoreResult) => void
}

/** A node, and how it is. */
export interface Guard {
  readonly node: BackendNode
  readonly breaker: Breaker
  /** What the last event said. */
  state: BreakerState
  /** Ends the wait for the next probe; undefined: there is none. */
  cancelProbe: (() => void) | undefined
  /** Of a node that is well, and of which something is to be counted. */
  cancelReconciling: (() => void) | undefined
}

/**
 * Processes that lost a store together come back one after the other: each waits up to this long.
 */
const SPREAD_MS = 500
/** How long after a request that failed alone its node is asked to count it. */
const ALONE_MS = 500
/** How often to check whether the client is ready again. */
const UNREADY_MS = 50
/** Keys that are counted at once. The store serves others between one chunk and the next. */
const CHUNK = 100

const PROBES = makePolicySet('weir', [fixedWindow({ name: 'probe', limit: 1, window: '1s' })])

export class Recovery {
  readonly #backend: Backend
  readonly #fallback: Fallback
  readonly #options: RecoveryOptions
  readonly #guards: Map<BackendNode, Guard> = new Map()
  #isClosed = false

  constructor(backend: Backend, fallback: Fallback, options: RecoveryOptions) {
    this.#backend = backend
    this.#fallback = fallback
    this.#options = options
  }

  guardOf(node: BackendNode): Guard {
    let guard = this.#guards.get(node)
    if (guard === undefined) {
      const breaker = new Breaker(this.#options.time.random)
      guard = {
        node,
        breaker,
        state: 'closed',
        cancelProbe: undefined,
        cancelReconciling: undefined,
      }
      this.#guards.set(node, guard)
    }
    return guard
  }

  /** A request failed for a reason that concerns the whole node. */
  failed(guard: Guard, cause: unknown): void {
    guard.breaker.failed(this.#options.time.nowMs())
    this.watch(guard, cause)
  }

  /** Says if a breaker has changed, and sees to the next probe. */
  watch(guard: Guard, cause?: unknown): void {
    const { breaker, node } = guard
    const { state } = breaker
    if (state !== guard.state) {
      guard.state = state
      this.#options.events.emit('breaker', { node: node.name, state, cause })
    }
    if (state !== 'open' || guard.cancelProbe !== undefined || this.#isClosed) return
    const dueMs = breaker.probeAtMs - this.#options.time.nowMs()
    const waitMs =
      this.#backend.connection.unready() === undefined ? dueMs : Math.max(dueMs, UNREADY_MS)
    guard.cancelProbe = this.#options.time.after(waitMs, () => {
      void this.#probe(guard).finally(() => {
        guard.cancelProbe = undefined
        this.watch(guard)
      })
    })
  }

  /** A request failed and was decided locally, though its node is well: has it counted there. */
  reconcileSoon(guard: Guard): void {
    if (this.#isClosed || guard.cancelReconciling !== undefined) return
    guard.cancelReconciling = this.#options.time.after(ALONE_MS, () => {
      guard.cancelReconciling = undefined
      if (guard.breaker.state === 'closed') void this.#reconcileAlone(guard)
    })
  }

  close(): void {
    this.#isClosed = true
    for (const { cancelProbe, cancelReconciling } of this.#guards.values()) {
      cancelProbe?.()
      cancelReconciling?.()
    }
  }

  async #probe(guard: Guard): Promise<void> {
    // Nothing is sent, so this is no probe: the next one is made once the client is connected.
    if (this.#backend.connection.unready() !== undefined) return
    const { breaker, node } = guard
    const failure = await this.#sendProbe(node)
    breaker.probed(failure === undefined, this.#options.time.nowMs())
    this.watch(guard, failure)
    if (breaker.state !== 'half-open') return
    let keys = 0
    const counted = (some: number): void => {
      keys += some
    }
    let problem: unknown
    try {
      await this.#spread()
      // Requests go on being decided locally while the first part is on its way; the second part is
      // what they took.
      for (let part = 0; part < 2; part += 1) await this.#reconcile(node, counted)
    } catch (error) {
      problem = error
    }
    breaker.reconciled(problem === undefined, this.#options.time.nowMs())
    this.watch(guard, problem)
    // A third part is what they took during the second. From now on the store decides.
    if (problem === undefined) {
      await this.#reconcile(node, counted).catch(() => this.reconcileSoon(guard))
    }
    this.#emit(node, keys)
  }

  /** A request like any other, whose result is of no interest. Resolves to why it failed. */
  async #sendProbe(node: BackendNode): Promise<Error | undefined> {
    const target = { policySet: PROBES, key: this.#backend.nodes.keyOn(node) }
    const probe: LayerRequest = { mode: 'penalty', target, costs: [1], count: 1 }
    const [outcome] = await this.#askAll([probe])
    if (outcome instanceof Error) return outcome
    this.#options.answered({ ...probe, mode: 'peek' }, outcome as StoreResult)
    return undefined
  }

  async #spread(): Promise<void> {
    const { time } = this.#options
    if (this.#fallback.keys === 0) return
    await new Promise<void>((resolve) => time.after(time.random() * SPREAD_MS, resolve))
  }

  async #reconcileAlone(guard: Guard): Promise<void> {
    const { node, breaker } = guard
    let keys = 0
    // Replies come in order: those that were late, and show that a request was counted, are here
    // before this one.
    let problem: unknown = await this.#sendProbe(node)
    try {
      if (problem === undefined && breaker.state === 'closed') {
        await this.#reconcile(node, (some) => {
          keys += some
        })
      }
    } catch (error) {
      problem = error
    }
    if (problem !== undefined) {
      this.failed(guard, problem)
      this.reconcileSoon(guard)
    }
    this.#emit(node, keys)
  }

  #emit(node: BackendNode, keys: number): void {
    if (keys > 0) this.#options.events.emit('reconciled', { node: node.name, keys })
  }

  /** Counts all that is due, most units first. What cannot be counted is left for the next time. */
  async #reconcile(node: BackendNode, counted: (keys: number) => void): Promise<void> {
    const due = this.#fallback.takeAdmitted((admitted) => this.#isDue(admitted, node))
    if (!this.#backend.recovers) return
    for (let from = 0; from < due.length; from += CHUNK) {
      const chunk = due.slice(from, from + CHUNK)
      const { keys, failure } = await this.#reconcileAll(chunk)
      counted(keys)
      if (failure === undefined) continue
      for (const admitted of due.slice(from + CHUNK)) this.#fallback.putBack(admitted)
      throw failure
    }
  }

  /** A key is counted with its node; or, if it moved to a node that is well, with the next one. */
  #isDue({ target }: Admitted, node: BackendNode): boolean {
    const home = this.#backend.nodes.of(target)
    return home === node || this.guardOf(home).breaker.state === 'closed'
  }

  /**
   * Counts these keys. What fails with the node is put back; a key that cannot be decided by itself
   * is given up, or it would keep the whole node from coming back.
   */
  async #reconcileAll(
    some: readonly Admitted[],
  ): Promise<{ readonly keys: number; readonly failure: Error | undefined }> {
    let failure: Error | undefined
    const isDone = (admitted: Admitted, outcome: StoreResult | Error): boolean => {
      if (!(outcome instanceof Error)) return true
      if (concernsNode(outcome)) {
        failure = outcome
        this.#fallback.putBack(admitted)
      } else {
        const { policySet, key } = admitted.target
        this.#options.events.emit('key-error', { limiter: policySet.name, key, cause: outcome })
      }
      return false
    }
    // First what was last seen, in case it was lost: what was admitted since comes on top of it.
    const seen = some.filter((each) => each.seen !== undefined)
    const restored = await this.#askAll(
      seen.map((each) => restoring(each.target, each.seen as NonNullable<typeof each.seen>)),
    )
    const failed = new Set(seen.filter((each, i) => !isDone(each, restored[i] as StoreResult)))
    const rest = some.filter((each) => !failed.has(each))
    const requests = rest.map(reconciling)
    const noted = (i: number, result: StoreResult): void => {
      if (!this.#isClosed) this.#options.answered(requests[i] as LayerRequest, result)
    }
    const outcomes = await this.#askAll(requests, (i, result) => {
      this.#fallback.reconciledAfterAll(rest[i] as Admitted)
      noted(i, result)
    })
    let keys = 0
    outcomes.forEach((outcome, i) => {
      if (!isDone(rest[i] as Admitted, outcome)) return
      noted(i, outcome as StoreResult)
      keys += 1
    })
    return { keys, failure }
  }

  /**
   * What the store says to each request, or why it says nothing.
   * @param late called with a result that comes when nobody waits for it any more
   */
  #askAll(
    requests: readonly LayerRequest[],
    late: (i: number, result: StoreResult) => void = () => {},
  ): Promise<readonly (StoreResult | Error)[]> {
    const { deadlineMs, time } = this.#options
    const { title } = this.#backend
    const outcomes = new Array<StoreResult | Error>(requests.length)
    let waiting = requests.length
    if (waiting === 0) return Promise.resolve(outcomes)
    return new Promise((resolve) => {
      let isOver = false
      const end = (): void => {
        if (isOver) return
        isOver = true
        cancel()
        for (let i = 0; i < requests.length; i += 1) outcomes[i] ??= timedOut(deadlineMs, title)
        resolve(outcomes)
      }
      const came = (i: number, outcome: StoreResult | Error): void => {
        outcomes[i] = outcome
        waiting -= 1
        if (waiting === 0) end()
      }
      // A reply that is there already comes first, as in deadlines.ts.
      const cancel = time.after(deadlineMs, () => time.soon(() => time.soon(end)))
      requests.forEach((request, i) => {
        const pending = {
          decided: (result: StoreResult) => (isOver ? late(i, result) : came(i, result)),
          failed: (error: unknown) => {
            if (!isOver) came(i, storeFailure(error, title))
          },
        }
        const reason = this.#backend.connection.unready()
        if (reason === undefined) this.#backend.next.ask(request, pending)
        else pending.failed(new Error(reason))
      })
    })
  }
}

function reconciling({ target, units, untilUs }: Admitted): LayerRequest {
  return { mode: 'reconcile', target, costs: units, count: 1, untilUs }
}
