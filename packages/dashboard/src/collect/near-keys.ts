// The keys that were last allowed with little left.

/** A key, and how close it is to its limit. */
export interface NearKey {
  readonly key: string
  readonly handle: string
  lastMs: number
  policy: string
  remaining: number
  limit: number
  /** The key as it is shown; undefined until it has been shown. */
  shown: string | undefined
}

export class NearKeys {
  readonly #most: number
  readonly #handle: () => string
  /** In the order in which keys were last seen. */
  readonly #byKey = new Map<string, NearKey>()

  /** @param most how many keys are kept */
  constructor(most: number, handle: () => string) {
    this.#most = most
    this.#handle = handle
  }

  add(key: string, seen: Pick<NearKey, 'lastMs' | 'policy' | 'remaining' | 'limit'>): void {
    const known = this.#byKey.get(key)
    if (known === undefined) {
      this.#byKey.set(key, { key, handle: this.#handle(), ...seen, shown: undefined })
      const [oldest] = this.#byKey.keys()
      if (this.#byKey.size > this.#most) this.#byKey.delete(oldest as string)
      return
    }
    Object.assign(known, seen)
    this.#byKey.delete(key)
    this.#byKey.set(key, known)
  }

  /** Removes a key that is no longer near its limit. */
  delete(key: string): void {
    this.#byKey.delete(key)
  }

  /** The keys seen last, the latest first. */
  latest(most: number): readonly NearKey[] {
    return [...this.#byKey.values()].slice(-most).reverse()
  }

  keyOf(handle: string): string | undefined {
    return [...this.#byKey.values()].find((each) => each.handle === handle)?.key
  }
}
