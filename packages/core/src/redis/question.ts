// A request on its way to Redis and back.

import type { Reading } from '../algorithms/driver.js'
import type { StoreError } from '../base/errors.js'
import { resultOf, type StoreRequest, type StoreResult } from '../store.js'
import { type Desk, idOf } from './desks.js'
import type { Waiter } from './transport/batching.js'
import type { RedisNode } from './transport/nodes.js'

/** What is made of an answer. */
export type As<Result> = (group: StoreRequest, answer: StoreResult) => Result

export function asIs(_: StoreRequest, answer: StoreResult): StoreResult {
  return answer
}

/** Who makes a decision of what comes back. */
export interface Asker {
  /** The store has answered. `sentMs`: when it was asked, by performance.now(). */
  noted(group: StoreRequest, desk: Desk, answer: StoreResult, sentMs: number): void
  /** The store has not answered, or not in time, or cannot decide this key. May throw. */
  failed(group: StoreRequest, node: RedisNode, error: StoreError): StoreResult
}

let lastResolve: (result: never) => void
let lastReject: (error: unknown) => void
/** An executor that is made once: one for each promise would be a third of what the promise takes. */
function keepBoth(resolve: (result: never) => void, reject: (error: unknown) => void): void {
  lastResolve = resolve
  lastReject = reject
}

export class Question<Result> implements Waiter {
  readonly promise: Promise<Result>
  readonly #asker: Asker
  readonly #group: StoreRequest
  readonly #desk: Desk
  readonly #node: RedisNode
  readonly #as: As<Result>
  readonly #resolve: (result: Result) => void
  readonly #reject: (error: unknown) => void

  constructor(asker: Asker, group: StoreRequest, desk: Desk, node: RedisNode, as: As<Result>) {
    this.#asker = asker
    this.#group = group
    this.#desk = desk
    this.#node = node
    this.#as = as
    this.promise = new Promise<Result>(keepBoth)
    this.#resolve = lastResolve as (result: Result) => void
    this.#reject = lastReject
  }

  answered(answer: StoreResult, sentMs: number): void {
    this.#asker.noted(this.#group, this.#desk, answer, sentMs)
    this.#resolve(this.#as(this.#group, answer))
  }

  granted(ahead: number, readings: readonly Reading[], nowUs: number): void {
    const id = idOf(this.#group)
    // What is held counts as used, also if Redis cannot be asked meanwhile.
    this.#desk.seen.note(
      id,
      this.#desk.salt,
      resultOf(this.#group, true, nowUs, readings),
      'penalty',
    )
    this.#desk.leases?.granted(id, this.#group, ahead, readings, nowUs)
  }

  failed(error: StoreError): void {
    this.#desk.leases?.failed(idOf(this.#group))
    try {
      const answer = this.#asker.failed(this.#group, this.#node, error)
      this.#resolve(this.#as(this.#group, answer))
    } catch (thrown) {
      this.#reject(thrown)
    }
  }
}
