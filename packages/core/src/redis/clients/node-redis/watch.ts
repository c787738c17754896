// Looks at a connection of node-redis, and gives it up if nothing has come for too long though
// something was asked: to a host that drops packets it would last for many minutes. The client's
// own `socketTimeout` does not do that, as each write begins it anew. A primary that became a
// replica is left as well.

import { memoized } from '../../../base/cache.js'
import { processTime } from '../../../base/time.js'
import type { SingleClient } from './client.js'

/** The shortest silence after which a connection is given up. */
const SILENCE_MS = 1_000
/** An event loop that was held up is no silence. What was asked before is written only now, as the
 *  client writes at the end of a turn, and is answered within this time. */
const GRACE_MS = 100

/** One for each client, to whose events it listens: what several stores ask there is heard of by
 *  all of them. */
export const watchOf: (client: SingleClient) => Watch = memoized((client) => new Watch(client))

export class Watch {
  readonly #client: SingleClient
  #silenceMs = SILENCE_MS
  /** Replies that are waited for. */
  #waiting = 0
  /** Since when something is waited for and nothing has come. */
  #silentFromMs: number | undefined
  /** Since when a connection that was lost is there again, but not ready. */
  #shakesFromMs: number | undefined
  #wasReady: boolean
  #isGivingUp = false
  #leftMs = Number.NEGATIVE_INFINITY

  constructor(client: SingleClient) {
    this.#client = client
    this.#wasReady = client.isReady
    client.on('connect', () => {
      // The first connection is the user's to wait for.
      this.#shakesFromMs = this.#wasReady ? processTime.nowMs() : undefined
    })
    client.on('ready', () => {
      this.#wasReady = true
      this.#shakesFromMs = undefined
    })
    client.on('error', () => {
      this.#shakesFromMs = undefined
    })
  }

  /** A reply may take so long, by the most patient store. */
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
      // Where it was connected by name, that may lead to another server now.
      if (error.message.startsWith('READONLY')) this.#leave()
    })
    this.look()
    return reply
  }

  /** Gives the connection up if it is silent. A handshake can be as well. */
  look(): void {
    const fromMs = this.#silentFromMs ?? this.#shakesFromMs
    if (fromMs === undefined || this.#isGivingUp) return
    if (processTime.nowMs() - fromMs < this.#silenceMs) return
    this.#isGivingUp = true
    const giveUp = (): void => {
      if (fromMs === (this.#silentFromMs ?? this.#shakesFromMs)) this.#connectAgain()
      else this.#isGivingUp = false
    }
    processTime.after(GRACE_MS, () => this.#afterReading(giveUp))
  }

  /** The primary became a replica. */
  #leave(): void {
    if (this.#isGivingUp || processTime.nowMs() - this.#leftMs < SILENCE_MS) return
    this.#isGivingUp = true
    this.#leftMs = processTime.nowMs()
    this.#connectAgain()
  }

  #connectAgain(): void {
    const client = this.#client
    if (client.isOpen) client.destroy()
    this.#shakesFromMs = undefined
    // Once the client knows that its connection has ended.
    this.#afterReading(() => {
      this.#isGivingUp = false
      if (!client.isOpen) client.connect().catch(() => {})
    })
  }

  #afterReading(action: () => void): void {
    processTime.soon(() => processTime.soon(action))
  }
}
