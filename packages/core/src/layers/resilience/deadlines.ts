// Deadlines of requests, in the order in which they end, so that one timer serves them all. A
// linked list: what is done leaves nothing behind.

import type { Time } from '../../base/time.js'

/** Something that must end in time. The list's own fields begin as undefined. */
export interface Timed {
  /** `Infinity`: it counts from the end of this turn of the event loop. */
  deadlineAtMs: number
  previous: Timed | undefined
  next: Timed | undefined
  expire(): void
}

/**
 * Expires what is not removed in time. An event loop that was held up is not a slow store: time
 * runs from the end of the turn in which something was added, and when a deadline has passed,
 * replies that have arrived meanwhile come first.
 */
export class Deadlines {
  readonly #time: Time
  readonly #afterMs: number
  #first: Timed | undefined
  #last: Timed | undefined
  #isDating = false
  #cancel: (() => void) | undefined
  #armedForMs = 0

  constructor(time: Time, afterMs: number) {
    this.#time = time
    this.#afterMs = afterMs
  }

  add(item: Timed): void {
    this.#insert(item)
    if (item.deadlineAtMs < Number.POSITIVE_INFINITY) this.#arm()
    else if (!this.#isDating) {
      this.#isDating = true
      this.#time.soon(() => this.#date())
    }
  }

  remove(item: Timed): void {
    const { previous, next } = item
    if (previous !== undefined) previous.next = next
    else if (this.#first === item) this.#first = next
    else return
    if (next !== undefined) next.previous = previous
    else this.#last = previous
    item.previous = undefined
    item.next = undefined
  }

  /** Expires all. */
  close(): void {
    this.#cancel?.()
    this.#cancel = undefined
    while (this.#first !== undefined) this.#expire(this.#first)
  }

  /** At the end, but for what has a deadline already. */
  #insert(item: Timed): void {
    let before = this.#last
    while (before !== undefined && before.deadlineAtMs > item.deadlineAtMs) before = before.previous
    const after = before === undefined ? this.#first : before.next
    item.previous = before
    item.next = after
    if (before === undefined) this.#first = item
    else before.next = item
    if (after === undefined) this.#last = item
    else after.previous = item
  }

  #date(): void {
    this.#isDating = false
    const deadlineAtMs = this.#time.nowMs() + this.#afterMs
    let item = this.#last
    while (item?.deadlineAtMs === Number.POSITIVE_INFINITY) {
      item.deadlineAtMs = deadlineAtMs
      item = item.previous
    }
    // Those that brought a later one come after them.
    while (item !== undefined && item.deadlineAtMs > deadlineAtMs) {
      const { previous } = item
      this.remove(item)
      this.#insert(item)
      item = previous
    }
    this.#arm()
  }

  #arm(): void {
    const first = this.#first
    // What has no deadline yet gets one at the end of the turn.
    if (first === undefined || first.deadlineAtMs === Number.POSITIVE_INFINITY) return
    if (this.#cancel !== undefined) {
      if (this.#armedForMs <= first.deadlineAtMs) return
      this.#cancel()
    }
    this.#armedForMs = first.deadlineAtMs
    const time = this.#time
    const leftMs = first.deadlineAtMs - time.nowMs()
    // Replies are read between a timer and an immediate. Twice, since one reading of a socket may
    // not be all of it.
    this.#cancel = time.after(leftMs, () => time.soon(() => time.soon(() => this.#judge())))
  }

  #judge(): void {
    this.#cancel = undefined
    const nowMs = this.#time.nowMs()
    while (this.#first !== undefined && this.#first.deadlineAtMs <= nowMs) this.#expire(this.#first)
    this.#arm()
  }

  #expire(item: Timed): void {
    this.remove(item)
    item.expire()
  }
}
