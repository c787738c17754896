// What is known of a key: what was admitted, and what of it each process had not seen when it
// mattered. The bounds are functions of it.

import type { Story } from './bounds.js'
import type { Member } from './member.js'

export class KeyBook {
  readonly key: string
  readonly limit: number
  admitted = 0
  inFlight = 0
  #mostInFlight = 0
  #inFlightWhenAway = 0
  readonly #members: readonly Member[]
  /** Of each process, the units that it had not seen when it lost Redis. */
  readonly #unseen: (number | undefined)[]
  /** Of each loss, the units that the first process to ask had not seen. */
  readonly #losses: (number | undefined)[] = []
  /** Of each process what it had not seen when Redis forgot the key, until one asks. */
  #lost: readonly (number | undefined)[] | undefined = undefined

  constructor(key: string, limit: number, members: readonly Member[]) {
    this.key = key
    this.limit = limit
    this.#members = members
    this.#unseen = members.map(() => undefined)
  }

  asked(): void {
    this.inFlight += 1
    this.#mostInFlight = Math.max(this.#mostInFlight, this.inFlight)
  }

  /** These processes begin to decide without Redis, for all that is known. */
  lose(some: readonly number[]): void {
    this.#inFlightWhenAway = Math.max(this.#inFlightWhenAway, this.inFlight)
    for (const i of some) {
      const units = this.#unseenBy(i) ?? Number.POSITIVE_INFINITY
      this.#unseen[i] = Math.max(this.#unseen[i] ?? 0, units)
    }
  }

  /** Redis forgets the key. */
  forget(): void {
    this.#lost = this.#members.map((_, i) => this.#unseenBy(i))
    // Until somebody asks, nobody knows what will be restored.
    this.#losses.push(0)
  }

  /** Redis has run a call of this process about the key. */
  ran(i: number): void {
    if (this.#lost === undefined) return
    this.#losses[this.#losses.length - 1] = this.#lost[i]
    this.#lost = undefined
  }

  get story(): Story {
    const n = this.#members.length
    const least = Math.floor(this.limit / n)
    return {
      limit: this.limit,
      quotas: this.#members.map((_, rank) => least + (rank < this.limit % n ? 1 : 0)),
      unseen: this.#unseen,
      inFlight: this.#inFlightWhenAway,
      inFlightAtLoss: this.#mostInFlight,
      losses: this.#losses,
    }
  }

  /** Undefined: the process has never seen the key. */
  #unseenBy(i: number): number | undefined {
    const used = (this.#members[i] as Member).seen.get(this.key)
    return used === undefined ? undefined : Math.max(0, this.admitted + this.inFlight - used)
  }
}
