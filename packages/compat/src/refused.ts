// Requests that were refused, and may be taken back. With `skipFailedRequests` a middleware takes
// back what it has refused, too; its own stores have counted that, and Weir has not. Both happen in
// one process, and which of a key's requests is taken back does not matter.

/** Beyond, the oldest are forgotten. */
const MOST_KEYS = 100_000

interface Entry {
  count: number
  /** When the window is over. */
  untilMs: number
}

export class Refused {
  readonly #entries: Map<string, Entry> = new Map()

  add(key: string, untilMs: number): void {
    const entry = this.#of(key)
    this.#entries.delete(key)
    this.#entries.set(key, { count: (entry?.count ?? 0) + 1, untilMs })
    if (this.#entries.size <= MOST_KEYS) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      return
    }
  }

  /** Whether one of them is taken back. */
  take(key: string): boolean {
    const entry = this.#of(key)
    if (entry === undefined) return false
    entry.count -= 1
    if (entry.count === 0) this.#entries.delete(key)
    return true
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  #of(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    return entry !== undefined && Date.now() < entry.untilMs ? entry : undefined
  }
}
