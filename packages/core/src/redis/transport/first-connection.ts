// Waits for a client's first connection: otherwise, each start of an application would begin with
// decisions that Redis does not count.

import type { Time } from '../../base/time.js'
import { withDeadline } from '../../layers/resilience/deadlines.js'
import type { Connection } from '../connection.js'

export class FirstConnection {
  /** It is made, or was given up. */
  isOver = false
  /** Gives it up. */
  close = (): void => {}
  readonly #connection: Pick<Connection, 'attempt' | 'unready'>
  readonly #deadlineMs: number
  readonly #time: Time
  readonly #closed: Promise<void>
  #waiting: Promise<void> | undefined

  /** @param deadlineMs how long to wait for it, from the first request on */
  constructor(connection: Pick<Connection, 'attempt' | 'unready'>, deadlineMs: number, time: Time) {
    this.#connection = connection
    this.#deadlineMs = deadlineMs
    this.#time = time
    this.#closed = new Promise((resolve) => {
      this.close = resolve
    })
  }

  /** Resolves when calls can be sent, rejects when the attempt has failed or was given up;
   *  undefined: the wait is over. */
  wait(): Promise<void> | undefined {
    if (this.isOver) return undefined
    const attempt = this.#connection.attempt()
    if (attempt === undefined) {
      this.isOver = true
      return undefined
    }
    if (this.#waiting === undefined) {
      const end = (): void => this.#end()
      const ended = Promise.race([attempt, this.#closed])
      this.#waiting = withDeadline(ended, this.#deadlineMs, this.#time, 'Redis').then(end, end)
      this.#waiting.catch(() => {})
    }
    return this.#waiting
  }

  #end(): void {
    this.isOver = true
    const why = this.#connection.unready()
    if (why !== undefined) throw new Error(why)
  }

  /** Why a call would neither be sent now nor wait for a connection; undefined: it would. */
  unready(): string | undefined {
    return this.wait() === undefined ? this.#connection.unready() : undefined
  }
}
