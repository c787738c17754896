// What is known of a key while a story runs: what was admitted, and how much of it each process had
// not seen when it lost Redis, or when Redis lost the key.

import type { Member } from './member.js'
import type { Story } from './story.js'

export class KeyBook {
  readonly key: string
  readonly limit: number
  admitted = 0
  #inFlight = 0
  #mostInFlight = 0
  #inFlightWhenAway = 0
  #behind = 0
  readonly #members: readonly Member[]
  /** See `Story`. */
  readonly #unseen: (number | undefined)[]
  readonly #losses: number[] = []
  /** After Redis has forgotten the key, until a process asks: what each had not seen. */
  #lost: readonly number[] | undefined = undefined

  constructor(key: string, limit: number, members: readonly Member[]) {
    this.key = key
    this.limit = limit
    this.#members = members
    this.#unseen = members.map(() => undefined)
  }

  /** Whether this is the name of its counter, or of a mark of it, in Redis. */
  isKey(name: string): boolean {
    return (
      name.includes(`{${this.key}}`) ||
      (name.includes(`}:fleet:`) && name.includes(`:${this.key}:`))
    )
  }

  asked(): void {
    this.#inFlight += 1
    this.#mostInFlight = Math.max(this.#mostInFlight, this.#inFlight)
  }

  answered(isAllowed: boolean): void {
    this.#inFlight -= 1
    if (isAllowed) this.admitted += 1
  }

  /** These processes lose Redis. */
  lose(some: readonly number[]): void {
    this.#inFlightWhenAway = Math.max(this.#inFlightWhenAway, this.#inFlight)
    for (const i of some) this.#unseen[i] = Math.max(this.#unseen[i] ?? 0, this.#unseenBy(i))
  }

  /** Redis forgets the key. */
  forget(): void {
    this.#lost = this.#members.map((_, i) => this.#unseenBy(i))
    // The first process to ask restores what it has seen; until then nobody knows what that is.
    this.#losses.push(0)
  }

  /** A replica that takes over has not heard of so many units. */
  fallBehind(units: number): void {
    this.#behind += units
  }

  /** A process may decide without Redis, as it has lost it. */
  mayBeLocal(i: number): boolean {
    return this.#unseen[i] !== undefined
  }

  /** Redis has run a call about the key, of this process. */
  ran(i: number): void {
    if (this.#lost === undefined) return
    this.#losses[this.#losses.length - 1] = this.#lost[i] as number
    this.#lost = undefined
  }

  get story(): Story {
    return {
      limit: this.limit,
      unseen: this.#unseen,
      noticed: this.#members.map(({ hasNoticed }, i) => hasNoticed || !this.mayBeLocal(i)),
      inFlight: this.#inFlightWhenAway,
      inFlightAtLoss: this.#mostInFlight,
      losses: this.#losses,
      behind: this.#behind,
    }
  }

  /** Units in use that a process has not seen: all of them, if it has never seen the key. */
  #unseenBy(i: number): number {
    const seen = (this.#members[i] as Member).seen.get(this.key) ?? 0
    return Math.max(0, this.admitted + this.#inFlight - seen)
  }
}
