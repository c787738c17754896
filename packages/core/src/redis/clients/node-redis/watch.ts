// Watches a node-redis connection, and gives it up if nothing has come for too long although a
// command was sent: a connection to a host that drops packets would last for many minutes. The
// client's own `socketTimeout` does not do that, as each write restarts it; it does end a silent
// handshake. A connection to a primary that became a replica is given up as well.

import { memoized } from '../../../base/cache.js'
import { processTime } from '../../../base/time.js'
import type { SingleClient } from './client.js'

/** The shortest silence after which a connection is given up. */
const SILENCE_MS = 1_000
/** Time for a reply after the event loop was held up: the client writes at the end of a turn, so
 *  earlier commands may be written only now. */
const GRACE_MS = 100

/** One for each client: all stores on it learn from each other's replies. */
export const watchOf: (client: SingleClient) => Watch = memoized((client) => new Watch(client))

export class Watch {
  readonly #client: SingleClient
  #silenceMs = SILENCE_MS
  /** How many replies are awaited. */
  #waiting = 0
  /** Since when a reply is awaited and nothing has come. */
  #silentFromMs: number | undefined
  #isGivingUp = false
  #leftMs = Number.NEGATIVE_INFINITY

  constructor(client: SingleClient) {
    this.#client = client
  }

  /** Notes how long a reply may take; the most patient store decides. */
  mayTake(ms: number): void {
    this.#silenceMs = Math.max(this.#silenceMs, ms)
  }

  /** Passes a reply on, and notes when it comes. */
  reply(reply: Promise<unknown>): Promise<unknown> {
    this.#silentFromMs ??= processTime.nowMs()
    this.#waiting += 1
    const heard = (): void => {
      this.#waiting -= 1
      this.#silentFromMs = this.#waiting > 0 ? processTime.nowMs() : undefined
    }
    reply.then(heard, (error: Error) => {
      heard()
      // If it was connected by name, the name may lead to another server now.
      if (error.message.startsWith('READONLY')) this.#leave()
    })
    this.#look(this.#silentFromMs)
    return reply
  }

  #look(fromMs: number): void {
    if (this.#isGivingUp || processTime.nowMs() - fromMs < this.#silenceMs) return
    this.#isGivingUp = true
    const giveUp = (): void => {
      this.#isGivingUp = false
      if (fromMs === this.#silentFromMs) this.#connectAgain()
    }
    processTime.after(GRACE_MS, () => afterReading(giveUp))
  }

  /** The primary became a replica. */
  #leave(): void {
    if (processTime.nowMs() - this.#leftMs < SILENCE_MS) return
    this.#leftMs = processTime.nowMs()
    this.#connectAgain()
  }

  #connectAgain(): void {
    const client = this.#client
    // In version 5, `destroy()` does not end an attempt to connect.
    if (!client.isReady) return
    client.destroy()
    // Once the client knows that its connection has ended.
    afterReading(() => {
      if (!client.isOpen) client.connect().catch(() => {})
    })
  }
}

function afterReading(action: () => void): void {
  processTime.soon(() => processTime.soon(action))
}
