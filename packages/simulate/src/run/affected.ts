// The keys that were refused, and when and how often each was.

import { Counts } from './key-table.js'

/** A key that was refused. Times are the log's, in us since 1970. */
export interface AffectedKey {
  readonly key: string
  readonly requests: number
  readonly refused: number
  readonly firstRefusedUs: number
  readonly lastRefusedUs: number
  /** How long the key was refused, in ms: from each refusal to its next request that passed, or to
   *  its last refusal if none did. */
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
  readonly #refusedUs: Counts = new Counts()

  refuse(key: number, timeUs: number): void {
    if (this.refused.of(key) === 0) {
      this.count += 1
      this.#first.set(key, timeUs)
    }
    this.refused.add(key, 1)
    this.#last.set(key, timeUs)
    if (this.#since.of(key) === 0) this.#since.set(key, timeUs)
  }

  pass(key: number, timeUs: number): void {
    const since = this.#since.of(key)
    if (since === 0) return
    this.#refusedUs.add(key, Math.max(0, timeUs - since))
    this.#since.set(key, 0)
  }

  /** The `count` keys with the most refusals; among equals, those that the log has first. */
  most(count: number, texts: readonly string[], requests: Counts): readonly AffectedKey[] {
    return largest(count, texts.length, this.refused).map((key) => {
      const since = this.#since.of(key)
      const lastRefusedUs = this.#last.of(key)
      const restUs = since === 0 ? 0 : Math.max(0, lastRefusedUs - since)
      return {
        key: texts[key] as string,
        requests: requests.of(key),
        refused: this.refused.of(key),
        firstRefusedUs: this.#first.of(key),
        lastRefusedUs,
        refusedMs: Math.round((this.#refusedUs.of(key) + restUs) / 1_000),
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
