// Deadlines of requests, for resilience.ts. One timer serves them all, and a finished request
// leaves nothing behind.

import type { Time } from '../../base/time.js'
import { timedOut } from './failures.js'

/** The deadline of all items added in one turn of the event loop: `Infinity` until the turn
 *  ends. */
export interface Deadline {
  atMs: number
}

/** Something that must end in time. Only the list writes these fields; all begin as undefined. */
export interface Timed {
  /** Undefined: it is not in the list. */
  deadline: Deadline | undefined
  previous: Timed | undefined
  next: Timed | undefined
  expire(): void
}

/** A timer that is later than this shows that the event loop was held up; replies then get as much
 *  time again. */
const GRACE_MS = 10

const resolved = Promise.resolve()

/**
 * Expires items that are not removed in time. A blocked event loop must not pass for a slow store.
 * So time runs from the end of the turn in which an item was added (from the next microtask if
 * nothing else is under way), and when a deadline has passed, replies that have arrived meanwhile
 * come first.
 */
export class Deadlines {
  readonly #time: Time
  readonly #afterMs: number
  /** An unsorted list: all items are examined, but only when the first deadline has passed. (A Map
   *  that fills and empties all the time costs a quarter of the CPU in garbage collection.) */
  #first: Timed | undefined
  #last: Timed | undefined
  #ofTurn: Deadline | undefined
  #cancel: (() => void) | undefined
  #armedForMs = 0

  constructor(time: Time, afterMs: number) {
    this.#time = time
    this.#afterMs = afterMs
  }

  /** @param atMs the item's deadline, if it brings one */
  add(item: Timed, atMs?: number): void {
    item.deadline = atMs === undefined ? this.#deadlineOfTurn() : { atMs }
    item.previous = this.#last
    if (this.#last === undefined) this.#first = item
    else this.#last.next = item
    this.#last = item
    if (atMs !== undefined) this.#arm(atMs)
  }

  remove(item: Timed): void {
    if (item.deadline === undefined) return
    const { previous, next } = item
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    item.deadline = undefined
    item.previous = undefined
    item.next = undefined
  }

  /** Expires all. */
  close(): void {
    this.#expireUntil(Number.POSITIVE_INFINITY)
    this.#cancel?.()
    this.#cancel = undefined
  }

  #deadlineOfTurn(): Deadline {
    if (this.#ofTurn === undefined) {
      this.#ofTurn = { atMs: Number.POSITIVE_INFINITY }
      // A lone request is sent at once; another turn of the event loop would cost it a microsecond.
      if (this.#first === undefined) void resolved.then(this.#endTurn)
      else this.#time.soon(this.#endTurn)
    }
    return this.#ofTurn
  }

  readonly #endTurn = (): void => {
    const deadline = this.#ofTurn as Deadline
    this.#ofTurn = undefined
    deadline.atMs = this.#time.nowMs() + this.#afterMs
    if (this.#first !== undefined) this.#arm(deadline.atMs)
  }

  #arm(atMs: number): void {
    if (this.#cancel !== undefined && this.#armedForMs <= atMs) return
    this.#cancel?.()
    this.#armedForMs = atMs
    const time = this.#time
    // Replies are read between a timer and an immediate. Two turns, because one read of a socket
    // may leave a part unread.
    const judge = (): void => time.soon(() => time.soon(() => this.#judge()))
    this.#cancel = time.after(atMs - time.nowMs(), () => {
      // Requests made while the event loop was held up may have been sent just now.
      if (time.nowMs() - atMs > GRACE_MS) this.#cancel = time.after(GRACE_MS, judge)
      else judge()
    })
  }

  #judge(): void {
    this.#cancel = undefined
    this.#expireUntil(this.#time.nowMs())
    let firstMs = Number.POSITIVE_INFINITY
    for (let item = this.#first; item !== undefined; item = item.next)
      firstMs = Math.min(firstMs, (item.deadline as Deadline).atMs)
    // Items added in this turn get their deadline at its end.
    if (firstMs < Number.POSITIVE_INFINITY) this.#arm(firstMs)
  }

  #expireUntil(nowMs: number): void {
    const due: Timed[] = []
    for (let item = this.#first; item !== undefined; item = item.next)
      if ((item.deadline as Deadline).atMs <= nowMs) due.push(item)
    for (const item of due) {
      // An item that expired before it may have removed it.
      if (item.deadline === undefined) continue
      this.remove(item)
      item.expire()
    }
  }
}

/**
 * Resolves to the promise's value, unless that takes longer than `ms`.
 * @throws {StoreError} when it takes longer
 */
export function withDeadline<Value>(
  promise: Promise<Value>,
  ms: number,
  time: Time,
  store: string,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    // A reply that has already arrived comes first, as above.
    const expire = (): void => reject(timedOut(ms, store))
    const cancel = time.after(ms, () => time.soon(() => time.soon(expire)))
    promise.finally(cancel).then(resolve, reject)
  })
}
