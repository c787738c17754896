// What is known of a GLIDE client: whether it is connected and, for a Cluster, which node serves a
// slot. GLIDE has events for neither, so Weir asks the client; a reply to any store's command also
// shows that it is connected.

import { memoized } from '../../../base/cache.js'
import { processTime } from '../../../base/time.js'
import type { Send } from '../../connection.js'
import { SLOTS } from '../../transport/hash-slot.js'
import { type GlideLike, isClosed, isOfCluster } from './client.js'
import { replyOf } from './replies.js'

/** `Decoder.Bytes` of GLIDE: bulk strings as Buffers. */
const BYTES = { decoder: 0 }

/** How long the known nodes of a Cluster are trusted, and how long after a failure. */
const NODES_MS = 10_000
const NODES_AFTER_FAILURE_MS = 500

/** One for each client: what one store hears is known to all. */
export const watchOf: (client: GlideLike) => Watch = memoized((client) => new Watch(client))

export class Watch {
  /** Of a Cluster: the master of each slot, as far as it is known. */
  readonly masters: (string | undefined)[]
  readonly #client: GlideLike
  readonly #isCluster: boolean
  /** A reply has come and, for a single server, no sign since that the connection is lost. */
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
   * GLIDE would keep a command that it cannot send now, to be counted later. So without a known
   * connection, it is sent only the command that shows one.
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

  /** Lets a lazy client connect. GLIDE answers when it is connected, or when the request's timeout
   *  has passed. */
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

  /** @throws {Error} if a proxy has answered something else */
  #read(reply: unknown): void {
    if (!this.#isCluster) return
    for (const [first, last, [host, port]] of reply as [number, number, unknown[]][])
      this.masters.fill(`${host}:${port}`, first, last + 1)
  }
}

const PING = ['ping', []] as const

/** How a command fails that was under way, or that GLIDE has kept for too long. */
const LOST = /^(Connection|Timeout)Error$/
