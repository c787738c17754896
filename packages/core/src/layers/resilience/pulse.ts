// When a node gets a beat of this process (canary.ts): every few seconds while the node is used,
// and before the next request after the node failed or the client has connected anew. Requests then
// wait for the answer. One that is sent behind the beat would hide what was seen before, or be a
// refund of a charge that is yet to be restored.

import type { Time } from '../../base/time.js'
import type { Layer } from '../../layer.js'
import type { StoreResult } from '../../store.js'
import type { CountListener } from './admitted.js'
import type { Backend, BackendNode } from './backend.js'
import { type Canary, type Loss, withLoss } from './canary.js'

const BEAT_MS = 3_000

export interface PulseOptions {
  readonly backend: Pick<Backend, 'lineTo' | 'recovers'>
  /** Asks the store, with a deadline, whatever a breaker says. */
  readonly store: Layer
  readonly time: Time
  readonly canaryOf: (node: BackendNode) => Canary
  /** Whether the node's breaker is open: then probes are its beats. */
  readonly isAway: () => boolean
}

export class Pulse {
  /** What the node may have lost; undefined: nothing. */
  losses: readonly Loss[] | undefined = undefined
  /** A user's request was sent since the last beat. */
  isUsed = false
  readonly #node: BackendNode
  readonly #options: PulseOptions
  /** The next request is to come after a beat. */
  #isDue = false
  /** The node failed since the last beat was answered. */
  #wasAway = false
  /** See `Backend.lineTo`: on which line the last beat was sent, and on which one was answered. */
  #sentLine: unknown = undefined
  #line: unknown = undefined
  /** Requests that wait until a beat is answered; undefined: none does. */
  #held: CountListener[] | undefined = undefined
  /** Cancels the timer of the next beat; undefined: none was ever set. */
  #cancel: (() => void) | undefined = undefined
  #isClosed = false

  constructor(node: BackendNode, options: PulseOptions) {
    this.#node = node
    this.#options = options
  }

  /** The node has failed, or has taken over keys of another one. */
  failed(): void {
    this.#isDue = true
    this.#wasAway = true
  }

  /**
   * Sends a beat before a user's request, if one is due.
   * @returns whether the request waits for the answer, as the node may have been away
   */
  holds(waiting: CountListener): boolean {
    const { backend } = this.#options
    if (!backend.recovers) return false
    if (this.#held !== undefined) {
      this.#held.push(waiting)
      return true
    }
    const line = backend.lineTo?.(this.#node)
    this.#line ??= line
    this.#sentLine ??= line
    const isNew = this.#sentLine !== line
    if (this.#cancel === undefined) {
      this.#beatLater()
      return false
    }
    if (!this.#isDue && !isNew) return false
    const answered = this.beat()
    if (!isNew && !this.#wasAway) return false
    this.#held = [waiting]
    void answered.then(() => {
      const held = this.#held ?? []
      this.#held = undefined
      for (const each of held) each.counted(undefined)
    })
    return true
  }

  /** Sends a beat. Requests that are sent later are answered later. Returns why there is no answer;
   *  undefined: there is one. */
  beat(): Promise<Error | undefined> {
    const { backend, store, canaryOf } = this.#options
    const line = backend.lineTo?.(this.#node)
    this.#sentLine = line
    // On the same line there is the same server. Where lines are not known, it may be another one.
    const mayBeAnother = line === undefined ? this.#wasAway : line !== this.#line
    this.isUsed = false
    this.#beatLater()
    const canary = canaryOf(this.#node)
    return new Promise((resolve) => {
      const decided = (result: StoreResult): void => {
        this.#line = line
        this.#wasAway = false
        const { lastUs } = canary
        let loss = canary.heard(result)
        // On the same line, a number that begins anew was evicted.
        if (line !== undefined && !mayBeAnother && loss?.sinceUs === 0) loss = undefined
        // No beat tells what was lost since the last one.
        if (mayBeAnother) loss ??= { sinceUs: lastUs, atUs: result.nowUs, isSure: false }
        if (loss !== undefined) this.losses = withLoss(this.losses, loss)
        resolve(undefined)
      }
      store.ask(canary.beat(), { decided, failed: (error) => resolve(error as Error) })
    })
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }

  #beatLater(): void {
    const { time, isAway } = this.#options
    this.#isDue = false
    this.#cancel?.()
    if (this.#isClosed) return
    this.#cancel = time.after(BEAT_MS, () => {
      // A process that is idle sends no beats.
      if (this.isUsed && !isAway()) void this.beat()
      else this.#isDue = true
    })
  }
}
