// What both kinds of queue are made of: waiters, a timer, and safe calls of the layer.

import type { Time } from '../base/time.js'
import { IGNORED, type Layer, type LayerRequest, type Pending } from '../layer.js'
import { correctionOf } from '../request.js'
import type { ConsumeRequest, PolicyResult, StoreRequest, StoreResult } from '../store.js'

/** A call that waits, or did: a queue decides no waiter that has left. */
export interface Waiter {
  /** To consume, with `atLeast`. */
  readonly request: ConsumeRequest
  /** The latest end of the wait, in ms of the process; it may be `Infinity`. */
  untilMs: number
  hasLeft: boolean
  decided(result: StoreResult): void
  failed(error: unknown): void
}

/** The waiters of one class under one key. */
export interface Queue {
  /** How many wait, or have asked to. */
  readonly size: number
  join(waiter: Waiter): void
  /** A waiter that joined has left; others may have left as well. */
  left(waiter: Waiter): void
}

/** Asks a layer. What it throws counts as its failure, or the queue would wait for ever. */
export function askSafely(layer: Layer, request: LayerRequest, pending: Pending): void {
  try {
    layer.ask(request, pending)
  } catch (error) {
    pending.failed(error)
  }
}

/** Gives back units that were granted to a waiter that has left. */
export function giveBack(layer: Layer, { target, costs }: StoreRequest, result: StoreResult): void {
  const { granted } = result
  if (granted === 0) return
  const back = costs.map((cost) => cost * granted)
  askSafely(layer, correctionOf('refund', target, back, result), IGNORED)
}

/** The largest rounding error in the difference of two instants. */
const ROUNDING_MS = 1e-6

/** The result as a denial of a waiter that would wait for too long: it shows nothing left. */
export function denied(result: StoreResult, waitMs: number): StoreResult {
  const policies = result.policies.map((each): PolicyResult => {
    if (each.cost === 0) return each
    const retryAfterMs = Math.max(each.retryAfterMs, Math.ceil(waitMs - ROUNDING_MS))
    return { ...each, remaining: 0, retryAfterMs }
  })
  return { ...result, granted: 0, policies }
}

/** The result for a waiter with other costs. */
export function costing(result: StoreResult, { request }: Waiter): StoreResult {
  const policies = result.policies.map((each, i) => {
    return { ...each, cost: request.costs[i] as number }
  })
  return { ...result, policies }
}

/** Removes the items that `holds` accepts from a list, and returns them. */
export function takeOut<Item>(list: Item[], holds: (item: Item) => boolean): Item[] {
  const out: Item[] = []
  let kept = 0
  for (const item of list) {
    if (holds(item)) {
      out.push(item)
    } else {
      list[kept] = item
      kept += 1
    }
  }
  list.length = kept
  return out
}

/** A timer that is never early. It keeps the process alive, as somebody awaits it. */
export class Alarm {
  /** When it goes off; `Infinity`: it does not. */
  atMs: number = Number.POSITIVE_INFINITY
  readonly #time: Time
  readonly #action: () => void
  #cancel: (() => void) | undefined

  constructor(time: Time, action: () => void) {
    this.#time = time
    this.#action = action
  }

  set(atMs: number): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.atMs = atMs
    if (atMs === Number.POSITIVE_INFINITY) return
    const ms = Math.min(Math.max(0, atMs - this.#time.nowMs()), LONGEST_TIMER_MS)
    this.#cancel = this.#time.after(Math.ceil(ms), () => this.#ring(), true)
  }

  #ring(): void {
    if (this.#time.nowMs() < this.atMs) {
      this.set(this.atMs)
      return
    }
    this.set(Number.POSITIVE_INFINITY)
    this.#action()
  }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1
