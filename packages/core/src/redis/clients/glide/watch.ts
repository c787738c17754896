// What is known of a client of GLIDE: whether it is connected, and of a Cluster which node serves a
// slot. It has events for neither, so it is asked, and what it replies to anybody tells.

import { memoized } from '../../../base/cache.js'
import { processTime } from '../../../base/time.js'
import type { Send } from '../../connection.js'
import { SLOTS } from '../../transport/hash-slot.js'
import { type GlideLike, isClosed, isOfCluster } from './client.js'
import { replyOf } from './replies.js'

/** `Decoder.Bytes` of GLIDE: bulk strings as Buffers. */
const BYTES = { decoder: 0 }

/** For so long the nodes of a Cluster are believed, and after a failure. */
const NODES_MS = 10_000
const NODES_AFTER_FAILURE_MS = 500

/** One for each client: what one store hears is known to all. */
export const watchOf: (client: GlideLike) => Watch = memoized((client) => new Watch(client))

export class Watch {
  /** Of a Cluster: the master of each slot, as far as it is known. */
  readonly masters: (string | undefined)[]
  readonly #client: GlideLike
  readonly #isCluster: boolean
  /** A reply has come, and of a single server no sign since that the connection is lost. */
  #isUp = false
  #asking: Promise<void> | undefined
  /** When a Cluster is to be asked again. */
  #askAtMs = 0

  constructor(client: GlideLike) {
    this.#client = client
    this.#isCluster = isOfCluster(client)
    this.masters = new Array(this.#isCluster ? SLOTS : 0)
  }

  readonly call: Send = (command, args) =>
    this.#client.customCommand([command, ...args], BYTES).then(this.#heard, this.#failed)

  /**
   * GLIDE would keep a command that it cannot send now, to be counted later. While no connection is
   * known it is sent nothing but what tells of one.
   */
  unready(): string | undefined {
    if (isClosed(this.#client)) return 'the client is closed'
    if (!this.#isUp) {
      void this.#ask()
      return 'the client is connecting'
    }
    if (this.#isCluster && processTime.nowMs() > this.#askAtMs) void this.#ask()
    return undefined
  }

  attempt(): Promise<void> | undefined {
    return this.#isUp || isClosed(this.#client) ? undefined : this.#ask()
  }

  readonly #heard = (reply: unknown): unknown => {
    this.#isUp = true
    return reply
  }

  readonly #failed = (error: Error): never => {
    const reply = replyOf(error)
    if (reply !== undefined) {
      this.#isUp = true
      throw reply
    }
    // A Cluster has other nodes.
    if (!this.#isCluster && LOST.test(error.name)) this.#isUp = false
    this.#askAtMs = Math.min(this.#askAtMs, processTime.nowMs() + NODES_AFTER_FAILURE_MS)
    throw error
  }

  /** Lets a lazy client begin. GLIDE answers when it is connected, or the timeout of a request has
   *  passed. */
  #ask(): Promise<void> {
    const [command, args] = this.#isCluster ? (['cluster', ['SLOTS']] as const) : PING
    this.#askAtMs = processTime.nowMs() + NODES_MS
    this.#asking ??= this.call(command, [...args])
      .then((reply) => this.#read(reply))
      .catch(() => {})
      .then(() => {
        this.#asking = undefined
      })
    return this.#asking
  }

  /** @throws {Error} where a proxy has answered */
  #read(reply: unknown): void {
    if (!this.#isCluster) return
    for (const [first, last, [host, port]] of reply as [number, number, unknown[]][])
      this.masters.fill(`${host}:${port}`, first, last + 1)
  }
}

const PING = ['ping', []] as const

/** What a command ends with that was under way, and one that GLIDE has kept for too long. */
const LOST = /^(Connection|Timeout)Error$/
