// Waits until Redis has said for the first time how many processes there are: a process that does
// not know takes itself to be alone, and would grant a whole limit.

import type { Time } from '../../base/time.js'
import type { Connection } from '../connection.js'
import type { Heartbeat } from '../heartbeat.js'

/** How long to wait for it. */
const FIRST_COUNT_MS = 1_000

export class FirstCount {
  /** Ends the wait. */
  close = (): void => {}
  readonly #connection: Pick<Connection, 'attempt'>
  readonly #heartbeat: Pick<Heartbeat, 'firstBeat'>
  readonly #time: Time
  readonly #closed: Promise<void>
  #waiting: Promise<void> | undefined
  #isOver = false

  constructor(
    connection: Pick<Connection, 'attempt'>,
    heartbeat: Pick<Heartbeat, 'firstBeat'>,
    time: Time,
  ) {
    this.#connection = connection
    this.#heartbeat = heartbeat
    this.#time = time
    this.#closed = new Promise((resolve) => {
      this.close = resolve
    })
  }

  /** Resolves when Redis has said it, or cannot be reached, or has not answered in time; undefined:
   *  the wait is over. */
  wait(): Promise<void> | undefined {
    if (this.#isOver) return undefined
    this.#waiting ??= this.#wait()
    return this.#waiting
  }

  async #wait(): Promise<void> {
    let cancel = (): void => {}
    const late = new Promise<void>((resolve) => {
      // Kept alive, as calls of users wait for it.
      cancel = this.#time.after(FIRST_COUNT_MS, resolve, true)
    })
    await Promise.race([this.#counted(), this.#closed, late])
    cancel()
    this.#isOver = true
  }

  async #counted(): Promise<void> {
    try {
      await this.#connection.attempt()
    } catch {
      // A user's client may throw.
    }
    // Where the attempt has failed, no beat is sent.
    await this.#heartbeat.firstBeat()
  }
}
