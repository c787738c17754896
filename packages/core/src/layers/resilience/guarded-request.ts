// A request on its way to the store: the store may answer it in time, late or never.

import type { LayerRequest, Pending } from '../../layer.js'
import type { StoreResult } from '../../store.js'
import type { Waiting } from './admitted.js'
import type { Deadline, Timed } from './deadlines.js'
import type { Guard } from './recovery.js'

/** Who made a request: a user, the recovery of a node, or the resilience layer. */
export type Sender = 'user' | 'recovery' | 'self'

/** Learns how a request ended. */
export interface Sent {
  /** The store has decided in time. */
  decided(guarded: GuardedRequest, result: StoreResult): void
  /** The store has decided a request that was decided without it before. */
  decidedLate(guarded: GuardedRequest, result: StoreResult): void
  /** The store has said that it cannot decide, or cannot be asked. */
  failed(guarded: GuardedRequest, error: unknown): void
  /** The store has not answered in time. */
  expired(guarded: GuardedRequest): void
  /** What the request waited for is counted. */
  goOn(guarded: GuardedRequest): void
}

export class GuardedRequest implements Pending, Timed, Waiting {
  deadline: Deadline | undefined = undefined
  previous: Timed | undefined = undefined
  next: Timed | undefined = undefined
  isDone = false
  /** The store has been asked. */
  isSent = false
  /** It has waited until what was seen of its target, and lost, was restored. */
  isRestored = false
  readonly sent: Sent
  readonly request: LayerRequest
  readonly sender: Sender
  readonly guard: Guard
  readonly pending: Pending

  constructor(sent: Sent, request: LayerRequest, sender: Sender, guard: Guard, pending: Pending) {
    this.sent = sent
    this.request = request
    this.sender = sender
    this.guard = guard
    this.pending = pending
    guard.inFlight += 1
  }

  decided(result: StoreResult): void {
    this.guard.inFlight -= 1
    if (this.isDone) {
      this.sent.decidedLate(this, result)
      return
    }
    this.isDone = true
    this.sent.decided(this, result)
  }

  failed(error: unknown): void {
    this.guard.inFlight -= 1
    if (this.isDone) return
    this.isDone = true
    this.sent.failed(this, error)
  }

  counted(failure: Error | undefined): void {
    if (failure !== undefined || this.isDone) this.failed(failure)
    else this.sent.goOn(this)
  }

  /** The request is decided without the store, which was not asked. */
  left(): void {
    this.guard.inFlight -= 1
    this.isDone = true
  }

  expire(): void {
    this.isDone = true
    this.sent.expired(this)
  }
}
