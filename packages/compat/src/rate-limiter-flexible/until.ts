// Keys of which something holds for a while, in this process.

/** Beyond, the oldest are forgotten. */
const MOST_KEYS = 10_000

export class Until {
  readonly #endsMs: Map<string, number> = new Map()

  add(key: string, ms: number): void {
    this.#endsMs.delete(key)
    this.#endsMs.set(key, Date.now() + ms)
    // Each that comes makes room: two of the oldest, if their time is over.
    let seen = 0
    for (const [oldest, endMs] of this.#endsMs) {
      const isFull = this.#endsMs.size > MOST_KEYS
      if (seen === 2 || !(isFull || Date.now() >= endMs)) return
      this.#endsMs.delete(oldest)
      seen += 1
    }
  }

  /** 0 where it does not hold. */
  leftMs(key: string): number {
    return Math.max(0, (this.#endsMs.get(key) ?? 0) - Date.now())
  }

  delete(key: string): void {
    this.#endsMs.delete(key)
  }

  clear(): void {
    this.#endsMs.clear()
  }
}
