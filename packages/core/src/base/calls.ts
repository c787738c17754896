// Counts the calls to a node of a store.

import { storeChannel } from './channels.js'
import { Histogram } from './histogram.js'

/** How a call to a store ended, as channel `weir:store` says it. */
export interface StoreCall {
  /** Which server of the store. */
  readonly node: string
  /** `timeout`: it took longer than the deadline of a decision, however it ended. */
  readonly result: 'ok' | 'timeout' | 'error'
  /** How long it took, with a fraction. */
  readonly durationMs: number
  /** How many requests travelled in it. */
  readonly requests: number
  /** Why it failed. */
  readonly error?: unknown
}

/** In seconds: from a local server to the default deadline, and beyond. */
const BOUNDS: readonly number[] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25]

/** The calls to one node. */
export class Calls {
  ok = 0
  timeout = 0
  error = 0
  /** Requests that were not sent: there is no connection, or too many calls wait. */
  notSent = 0
  readonly durations: Histogram = new Histogram(BOUNDS)

  /** A call has ended; with an error, unless that is undefined. */
  ended(
    node: string,
    durationMs: number,
    deadlineMs: number,
    requests: number,
    error?: unknown,
  ): void {
    const end = error === undefined ? 'ok' : 'error'
    const result = durationMs > deadlineMs ? 'timeout' : end
    this[result] += 1
    this.durations.record(durationMs)
    if (!storeChannel.hasSubscribers) return
    const call: StoreCall = { node, result, durationMs, requests, error }
    storeChannel.publish(Object.freeze(call))
  }
}
