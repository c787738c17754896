// Sends batches to Redis and sees to it that each ends in time: answered, failed, or given up at the deadline. What a call
// teaches about its node goes to the node's breaker.

import type { StoreError } from '../../base/errors.js'
import { type Deadlines, deadlines, type Timed } from '../../layers/resilience/deadlines.js'
import {
  concernsNode,
  mustSplit,
  storeFailure,
  timedOut,
} from '../../layers/resilience/failures.js'
import { type Batch, type Entry, grantAhead, handOut } from './batching.js'
import type { Nodes, RedisNode } from './nodes.js'
import { decideGroups, grantedAt, type RedisLike } from './script-call.js'

export interface CallsOptions {
  readonly deadlineMs: number
  /** Calls to a node that may wait for an answer at once. */
  readonly maxInFlight: number
  /** The client's first connection, while it is made; rejects with a StoreError. */
  readonly connecting: () => Promise<void> | undefined
  /** The breaker of a node learnt something. */
  readonly learnt: (node: RedisNode, cause: unknown) => void
  /** A reply came: the server's time. */
  readonly replied: (nowUs: number) => void
  /** A reply came after its requests had been decided otherwise. */
  readonly late: (entry: Entry, granted: number) => void
}

/** A call that was not answered for so long after its deadline will not be. */
const LOST_MS = 30_000

export class Calls {
  readonly #client: RedisLike
  readonly #nodes: Nodes
  readonly #options: CallsOptions
  readonly #deadlines: Deadlines
  readonly #lost: Deadlines = deadlines(LOST_MS)
  /** For the client's first connection. */
  readonly #waiting: Set<Batch> = new Set()

  constructor(client: RedisLike, nodes: Nodes, options: CallsOptions) {
    this.#client = client
    this.#nodes = nodes
    this.#options = options
    this.#deadlines = deadlines(options.deadlineMs)
  }

  /** @param startedMs when the call began that this one is a part of */
  send(batch: Batch, startedMs: number = performance.now()): void {
    const connecting = this.#options.connecting()
    if (connecting !== undefined) {
      // Which node it is for is known afterwards. The wait has a deadline of its own, which is no later than the call's.
      this.#waiting.add(batch)
      connecting.then(
        () => {
          if (this.#waiting.delete(batch)) this.send(batch, startedMs)
        },
        (error: StoreError) => {
          if (!this.#waiting.delete(batch)) return
          this.#failed(this.#nodes.ofSlot(batch.slot), error)
          failAll(batch.entries, error)
        },
      )
      return
    }
    const node = this.#nodes.ofSlot(batch.slot)
    // It may have opened since these requests were gathered.
    if (node.breaker.state !== 'closed') {
      failAll(
        batch.entries,
        storeFailure(new Error(`its circuit breaker is ${node.breaker.state}`)),
      )
      return
    }
    if (node.inFlight >= this.#options.maxInFlight) {
      const error = storeFailure(new Error(`${node.inFlight} calls are in flight already`))
      // Nothing else would tell the breaker of a node whose places are all taken by calls that it has not answered.
      if (node.overdue >= this.#options.maxInFlight) this.#failed(node, error)
      failAll(batch.entries, error)
      return
    }
    const call = new Call(startedMs, () => {
      const error = timedOut(this.#options.deadlineMs)
      node.overdue += 1
      this.#lost.add(place)
      this.#failed(node, error)
      failAll(batch.entries, error)
    })
    // A client may never answer. Its place is free again after a while.
    const place = new Call(startedMs, () => {
      node.inFlight -= 1
      node.overdue -= 1
    })
    const answered = (): void => {
      if (place.done) return
      place.end()
      node.inFlight -= 1
      if (call.done) node.overdue -= 1
    }
    this.#deadlines.add(call)
    node.inFlight += 1
    decideGroups(this.#client, batch.line, batch.mode, batch.entries, batch.nowUs).then(
      (reply) => {
        const { nowUs } = reply
        const { readings } = batch.line
        answered()
        this.#options.replied(nowUs)
        const isLate = call.done
        call.end()
        if (!isLate) node.breaker.succeeded(performance.now())
        for (let i = 0; i < batch.entries.length; i += 1) {
          const entry = batch.entries[i] as Entry
          const granted = grantedAt(reply, i, readings)
          if (typeof granted !== 'number') {
            if (!isLate) fail(entry, granted)
          } else if (isLate) {
            this.#options.late(entry, granted)
            grantAhead(entry, granted, readings, nowUs)
          } else handOut(entry, granted, readings, nowUs, startedMs)
        }
      },
      (error: StoreError) => {
        answered()
        if (call.done) return
        call.end()
        if (mustSplit(error) && batch.entries.length > 1) {
          for (const entry of batch.entries) this.send({ ...batch, entries: [entry] }, startedMs)
          return
        }
        if (concernsNode(error)) this.#failed(node, error)
        failAll(batch.entries, error)
      },
    )
  }

  close(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const { entries } of waiting)
      failAll(entries, storeFailure(new Error('the store is closed')))
    this.#deadlines.close()
    this.#lost.close()
  }

  #failed(node: RedisNode, error: StoreError): void {
    node.breaker.failed(performance.now())
    this.#options.learnt(node, error)
  }
}

/** A call on its way. It stays in the queue of deadlines for a while after its end, so it lets go of all it has. */
class Call implements Timed {
  readonly startedMs: number
  #expired: (() => void) | undefined

  constructor(startedMs: number, expired: () => void) {
    this.startedMs = startedMs
    this.#expired = expired
  }

  get done(): boolean {
    return this.#expired === undefined
  }

  end(): void {
    this.#expired = undefined
  }

  expire(): void {
    const expired = this.#expired
    this.end()
    expired?.()
  }
}

function failAll(entries: readonly Entry[], error: StoreError): void {
  for (const entry of entries) fail(entry, error)
}

function fail({ waiters }: Entry, error: StoreError): void {
  for (const waiter of waiters) waiter.failed(error)
}
