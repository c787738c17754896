// Values by key that hold for a while, in this process.

/** Beyond this, the oldest are forgotten. */
const MOST_KEYS = 10_000

export class Kept<Value> {
  readonly #entries: Map<string, { readonly value: Value; readonly endMs: number }> = new Map()

  set(key: string, value: Value, ms: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, endMs: Date.now() + ms })
    // Each new entry drops up to two of the oldest: those whose time is over, or any while there
    // are too many.
    let seen = 0
    for (const [oldest, { endMs }] of this.#entries) {
      const isFull = this.#entries.size > MOST_KEYS
      if (seen === 2 || !(isFull || Date.now() >= endMs)) return
      this.#entries.delete(oldest)
      seen += 1
    }
  }

  get(key: string): Value | undefined {
    return this.leftMs(key) > 0 ? this.#entries.get(key)?.value : undefined
  }

  /** 0 where nothing is kept. */
  leftMs(key: string): number {
    return Math.max(0, (this.#entries.get(key)?.endMs ?? 0) - Date.now())
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }
}
