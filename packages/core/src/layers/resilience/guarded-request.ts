// A request on its way to the store: the store may answer it in time, late or never. Equal requests
// that are asked before it leaves wait with it.

import type { LayerRequest, Pending } from '../../layer.js'
import { arrayOf } from '../../request.js'
import type { StoreResult } from '../../store.js'
import type { CountListener } from './admitted.js'
import type { Deadline, Timed } from './deadlines.js'
import type { Guard } from './recovery.js'

/** Who made a request: a user, the recovery of a node, or the resilience layer. */
export type Sender = 'user' | 'recovery' | 'self'

/** Learns how a request ended, for each of those who wait for it. */
export interface Sent {
  /** The store has decided in time. */
  decided(guarded: GuardedRequest, result: StoreResult, pending: Pending): void
  /** The store has decided a request that was decided without it before. */
  decidedLate(guarded: GuardedRequest, result: StoreResult): void
  /** The store has said that it cannot decide, or cannot be asked. */
  failed(guarded: GuardedRequest, error: unknown, pending: Pending): void
  /** The store has not answered in time. */
  expired(guarded: GuardedRequest, pending: Pending): void
  /** What the request waited for is counted. */
  goOn(guarded: GuardedRequest): void
}

export class GuardedRequest implements Pending, Timed, CountListener {
  deadline: Deadline | undefined = undefined
  previous: Timed | undefined = undefined
  next: Timed | undefined = undefined
  /** How many of those who wait have an answer of the store. */
  answered = 0
  /** It was decided without the store. */
  isOver = false
  /** The store has been asked. */
  isSent = false
  /** It has waited until what was seen of its target, and lost, was restored. */
  isRestored = false
  readonly sent: Sent
  readonly request: LayerRequest
  readonly sender: Sender
  readonly guard: Guard
  readonly pending: Pending
  /** Those who have joined, in the order in which they came. */
  others: Pending[] | undefined = undefined

  constructor(sent: Sent, request: LayerRequest, sender: Sender, guard: Guard, pending: Pending) {
    this.sent = sent
    this.request = request
    this.sender = sender
    this.guard = guard
    this.pending = pending
    guard.inFlight += 1
  }

  /** Nobody has an answer yet. */
  get isOpen(): boolean {
    return !this.isOver && this.answered === 0
  }

  /** All have the store's answer. */
  get isAnswered(): boolean {
    return this.answered > (this.others?.length ?? 0)
  }

  join(pending: Pending): void {
    this.guard.inFlight += 1
    if (this.others === undefined) this.others = arrayOf(pending)
    else this.others.push(pending)
  }

  decided(result: StoreResult): void {
    this.guard.inFlight -= 1
    if (this.isOver) this.sent.decidedLate(this, result)
    else this.sent.decided(this, result, this.#nextOf())
  }

  failed(error: unknown): void {
    this.guard.inFlight -= 1
    if (!this.isOver) this.sent.failed(this, error, this.#nextOf())
  }

  counted(failure: Error | undefined): void {
    if (failure !== undefined || this.isOver) this.failed(failure)
    else this.sent.goOn(this)
  }

  /** The request is decided without the store, which was not asked. */
  left(): void {
    this.guard.inFlight -= 1
    this.isOver = true
  }

  expire(): void {
    this.isOver = true
    this.sent.expired(this, this.pending)
    for (const other of this.others ?? []) this.sent.expired(this, other)
  }

  /** Who is next to get an answer. */
  #nextOf(): Pending {
    this.answered += 1
    return this.answered === 1 ? this.pending : (this.others?.[this.answered - 2] as Pending)
  }
}
