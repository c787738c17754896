// The keys that were refused, and when and how often each was.

import { Counts } from './key-table.js'

/** A key that was refused. Times are the log's, in us since 1970. */
export interface AffectedKey {
  readonly key: string
  readonly requests: number
  readonly refused: number
  readonly firstRefusedUs: number
  readonly lastRefusedUs: number
  /** How long the key was refused, in ms: from each refusal until one of its requests passed, or
   *  the wait of the last refusal (`retryAfterMs`) was over. Where that is for ever, to the last
   *  refusal. */
  readonly refusedMs: number
}

export class AffectedKeys {
  /** Keys that were refused. */
  count = 0
  readonly refused: Counts = new Counts()
  readonly #first: Counts = new Counts()
  readonly #last: Counts = new Counts()
  /** Since when each key is refused; 0: its last request passed. */
  readonly #since: Counts = new Counts()
  /** When the wait of each key's last refusal is over. */
  readonly #until: Counts = new Counts()
  /** Of the times that are over. */
  readonly #refusedUs: Counts = new Counts()

  refuse(key: number, timeUs: number, retryAfterMs: number): void {
    if (this.refused.of(key) === 0) {
      this.count += 1
      this.#first.set(key, timeUs)
    }
    // The wait was over before the key came back: it could have passed in between.
    if (timeUs > this.#until.of(key)) this.pass(key, timeUs)
    this.refused.add(key, 1)
    this.#last.set(key, timeUs)
    this.#until.set(key, timeUs + retryAfterMs * 1_000)
    if (this.#since.of(key) === 0) this.#since.set(key, timeUs)
  }

  pass(key: number, timeUs: number): void {
    if (this.#since.of(key) === 0) return
    this.#refusedUs.add(key, this.#openUs(key, timeUs))
    this.#since.set(key, 0)
  }

  /** How long a key has been refused since a request of its last passed. */
  #openUs(key: number, nowUs: number): number {
    const since = this.#since.of(key)
    if (since === 0) return 0
    const until = this.#until.of(key)
    const end = until === Number.POSITIVE_INFINITY ? this.#last.of(key) : Math.min(nowUs, until)
    return Math.max(0, end - since)
  }

  /** The `count` keys with the most refusals; among equals, those that the log has first. */
  most(count: number, texts: readonly string[], requests: Counts): readonly AffectedKey[] {
    return largest(count, texts.length, this.refused).map((key) => {
      const openUs = this.#openUs(key, Number.POSITIVE_INFINITY)
      return {
        key: texts[key] as string,
        requests: requests.of(key),
        refused: this.refused.of(key),
        firstRefusedUs: this.#first.of(key),
        lastRefusedUs: this.#last.of(key),
        refusedMs: Math.round((this.#refusedUs.of(key) + openUs) / 1_000),
      }
    })
  }
}

/** At most `most` of the numbers from 0 with the largest counts above 0, the largest first. */
function largest(most: number, numbers: number, counts: Counts): readonly number[] {
  const found: number[] = []
  for (let number = 0; number < numbers; number += 1) {
    const count = counts.of(number)
    if (count === 0) continue
    if (found.length === most && count <= counts.of(found[most - 1] as number)) continue
    let at = found.length
    while (at > 0 && counts.of(found[at - 1] as number) < count) at -= 1
    found.splice(at, 0, number)
    if (found.length > most) found.pop()
  }
  return found
}
