// A bounded cache of the values that were set most recently, by key: O(1), without a list to
// reorder. It has two generations: a key that is not set while a whole generation fills up is
// forgotten.

export class Recent<Value> {
  readonly #most: number
  #young: Map<string, Value> = new Map()
  #old: Map<string, Value> = new Map()

  /** @param most roughly the most values kept; at least half as many are */
  constructor(most: number) {
    this.#most = most / 2
  }

  get isEmpty(): boolean {
    return this.#young.size === 0 && this.#old.size === 0
  }

  get(key: string): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }

  set(key: string, value: Value): void {
    if (this.#young.size >= this.#most && !this.#young.has(key)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  delete(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}

/** Remembers what `make` returns for each object. The last object needs no lookup. */
export function memoized<Key extends object, Value>(
  make: (key: Key) => Value,
): (key: Key) => Value {
  const known = new WeakMap<Key, Value>()
  let lastKey: Key | undefined
  let last: Value
  return (key) => {
    if (key === lastKey) return last
    let value = known.get(key)
    if (value === undefined) {
      value = make(key)
      known.set(key, value)
    }
    lastKey = key
    last = value
    return value
  }
}

/** Calls `make` once for each name: all objects with that name share the value. Kept for ever. */
export function perName<Value>(make: () => Value): {
  readonly of: (named: { readonly name: string }) => Value
  readonly all: ReadonlyMap<string, Value>
} {
  const all = new Map<string, Value>()
  const of = memoized(({ name }: { readonly name: string }): Value => {
    const value = all.get(name) ?? make()
    all.set(name, value)
    return value
  })
  return { of, all }
}
