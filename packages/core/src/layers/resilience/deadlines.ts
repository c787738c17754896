// Deadlines of requests. One timer serves them all, and what is done leaves nothing behind.

import type { Time } from '../../base/time.js'

/** Something that must end in time. */
export interface Timed {
  expire(): void
}

/** Of all that was added in a turn of the event loop: `Infinity` until the turn ends. */
interface Deadline {
  atMs: number
}

/**
 * Expires what is not removed in time. An event loop that was held up is not a slow store: time
 * runs from the end of the turn in which something was added, and when a deadline has passed,
 * replies that have arrived meanwhile come first.
 */
export class Deadlines {
  readonly #time: Time
  readonly #afterMs: number
  /** In no order: all are looked through, but only when the first deadline has passed. */
  readonly #deadlines: Map<Timed, Deadline> = new Map()
  #ofTurn: Deadline | undefined
  #cancel: (() => void) | undefined
  #armedForMs = 0

  constructor(time: Time, afterMs: number) {
    this.#time = time
    this.#afterMs = afterMs
  }

  /** @param atMs its deadline, where it brings one */
  add(item: Timed, atMs?: number): void {
    if (atMs !== undefined) {
      this.#deadlines.set(item, { atMs })
      this.#arm(atMs)
      return
    }
    if (this.#ofTurn === undefined) {
      this.#ofTurn = { atMs: Number.POSITIVE_INFINITY }
      this.#time.soon(() => this.#endTurn())
    }
    this.#deadlines.set(item, this.#ofTurn)
  }

  remove(item: Timed): void {
    this.#deadlines.delete(item)
  }

  /** Expires all. */
  close(): void {
    this.#expireUntil(Number.POSITIVE_INFINITY)
    this.#cancel?.()
  }

  #endTurn(): void {
    const deadline = this.#ofTurn as Deadline
    this.#ofTurn = undefined
    deadline.atMs = this.#time.nowMs() + this.#afterMs
    if (this.#deadlines.size > 0) this.#arm(deadline.atMs)
  }

  #arm(atMs: number): void {
    if (this.#cancel !== undefined && this.#armedForMs <= atMs) return
    this.#cancel?.()
    this.#armedForMs = atMs
    const time = this.#time
    // Replies are read between a timer and an immediate. Twice, since one reading of a socket may
    // not be all of it.
    const judge = (): void => time.soon(() => time.soon(() => this.#judge()))
    this.#cancel = time.after(atMs - time.nowMs(), judge)
  }

  #judge(): void {
    this.#cancel = undefined
    this.#expireUntil(this.#time.nowMs())
    let firstMs = Number.POSITIVE_INFINITY
    for (const { atMs } of this.#deadlines.values()) firstMs = Math.min(firstMs, atMs)
    // What was added in this turn gets its deadline at the end of it.
    if (firstMs < Number.POSITIVE_INFINITY) this.#arm(firstMs)
  }

  #expireUntil(nowMs: number): void {
    for (const [item, { atMs }] of this.#deadlines) {
      if (atMs > nowMs) continue
      this.#deadlines.delete(item)
      item.expire()
    }
  }
}
