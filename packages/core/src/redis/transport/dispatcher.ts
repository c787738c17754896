// Sends batches to Redis, and hands out what comes back.

import type { Time } from '../../base/time.js'
import { storeFailure } from '../../layers/resilience/failures.js'
import { isReady, type RedisLike } from '../client/client.js'
import type { FirstConnection } from '../client/first-connection.js'
import type { Heartbeat } from '../heartbeat.js'
import { type Batch, type Entry, fail, handOut } from './batching.js'
import { callScript, grantedAt, type Reply } from './call.js'
import type { Nodes, RedisNode } from './nodes.js'

export interface DispatcherOptions {
  /** Calls to a node that may wait for an answer at once. */
  readonly maxInFlight: number
  readonly time: Time
  readonly firstConnection: FirstConnection
  /** Called with each failure of a call or a key. */
  readonly failed: (node: RedisNode, error: unknown) => void
  /** Started by the first reply; undefined: the number of peers was given as an option. */
  readonly heartbeat: Heartbeat | undefined
}

export class Dispatcher {
  readonly #client: RedisLike
  readonly #nodes: Nodes
  readonly #options: DispatcherOptions
  /** For the client's first connection. */
  readonly #waiting: Set<Batch> = new Set()
  #hasAnswered = false

  constructor(client: RedisLike, nodes: Nodes, options: DispatcherOptions) {
    this.#client = client
    this.#nodes = nodes
    this.#options = options
  }

  /** Why a batch would not be sent now, and not even wait to be; undefined: it would. */
  unready(): string | undefined {
    if (isReady(this.#client) || this.#connecting() !== undefined) return undefined
    return `the client is ${this.#client.status}`
  }

  send(batch: Batch): void {
    const connecting = this.#connecting()
    if (connecting !== undefined) {
      // Its node is known only once the client is connected.
      this.#waiting.add(batch)
      connecting.then(
        () => {
          if (this.#waiting.delete(batch)) this.send(batch)
        },
        (error) => {
          if (this.#waiting.delete(batch)) failAll(batch, error)
        },
      )
      return
    }
    const { maxInFlight, time, failed, heartbeat } = this.#options
    const node = this.#nodes.ofSlot(batch.slot)
    if (node.inFlight >= maxInFlight) {
      failAll(
        batch,
        storeFailure(new Error(`${node.inFlight} calls are in flight already`), 'Redis'),
      )
      return
    }
    const sentAtMs = time.nowMs()
    node.inFlight += 1
    const { prepared, mode, entries, nowUs } = batch
    callScript(this.#client, prepared, mode, entries, nowUs).then(
      (reply) => {
        node.inFlight -= 1
        this.#hasAnswered = true
        this.#handOut(batch, reply, sentAtMs, node)
        heartbeat?.start()
      },
      (error) => {
        node.inFlight -= 1
        if (mustSplit(error) && entries.length > 1) {
          for (const entry of entries) this.send({ ...batch, entries: [entry] })
          return
        }
        failed(node, error)
        failAll(batch, error)
      },
    )
  }

  close(): void {
    for (const batch of this.#waiting)
      failAll(batch, storeFailure(new Error('the store is closed'), 'Redis'))
    this.#waiting.clear()
  }

  /** The client's first connection, while it is made. */
  #connecting(): Promise<void> | undefined {
    if (this.#hasAnswered || isReady(this.#client)) return undefined
    return this.#options.firstConnection.pending()
  }

  #handOut({ entries, prepared }: Batch, reply: Reply, sentAtMs: number, node: RedisNode): void {
    const { readings } = prepared
    for (let i = 0; i < entries.length; i += 1) {
      const entry = entries[i] as Entry
      const granted = grantedAt(reply, i, readings)
      if (typeof granted === 'number') handOut(entry, granted, readings, reply.nowUs, sentAtMs)
      else {
        this.#options.failed(node, granted)
        fail(entry, granted)
      }
    }
  }
}

function failAll({ entries }: Batch, error: unknown): void {
  for (const entry of entries) fail(entry, error)
}

/**
 * Nothing ran, because keys of the call are on their way to another node; one by one they can be
 * decided. ioredis tries again by itself, and says in the end that there were too many
 * redirections.
 */
function mustSplit({ cause }: { readonly cause?: unknown }): boolean {
  return cause instanceof Error && /^(TRYAGAIN|Too many Cluster redirections)/.test(cause.message)
}
