// Refused requests that the middleware will take back. With `skipFailedRequests`,
// express-rate-limit takes back its own refusals, which its own stores have counted and Weir has
// not. The process that refuses is the one that takes back, and it does not matter which of a key's
// requests is taken back.

/** Beyond this, the oldest are forgotten. */
const MOST_KEYS = 10_000

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
    // Each new entry drops up to two of the oldest: those whose windows are over, or any while
    // there are too many.
    let seen = 0
    for (const [oldest, { untilMs: endMs }] of this.#entries) {
      const isFull = this.#entries.size > MOST_KEYS
      if (seen === 2 || !(isFull || Date.now() >= endMs)) return
      this.#entries.delete(oldest)
      seen += 1
    }
  }

  /** Takes back one of a key's refused requests. False: there is none. */
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
