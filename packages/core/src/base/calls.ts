// Counts the calls to one of a store's nodes.

import { storeChannel } from './channels.js'
import { Histogram } from './histogram.js'

/** How a call to a store ended: the message of the channel `weir:store`. */
export interface StoreCall {
  /** Which of the store's servers was called. */
  readonly node: string
  /** `timeout`: the call took longer than a decision's deadline, however it ended. */
  readonly result: 'ok' | 'timeout' | 'error'
  /** How long the call took, in ms, with a fraction. */
  readonly durationMs: number
  /** How many requests the call carried. */
  readonly requests: number
  /** Why the call failed; undefined if it did not. */
  readonly error?: unknown
}

/** In seconds, from the time that a local server takes to beyond the default deadline. */
const BOUNDS: readonly number[] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25]

/** The calls to one node. */
export class Calls {
  ok = 0
  timeout = 0
  error = 0
  /** Requests that were not sent: there was no connection, or too many calls waited. */
  notSent = 0
  readonly durations: Histogram = new Histogram(BOUNDS)

  /** Records that a call has ended: with an error, unless `error` is undefined. */
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
