// Policies for single keys, found by one lookup in a Map, and for all keys with a prefix, found by
// a binary search over the prefixes.

import type { Policy } from '../algorithms/policy.js'

/** A policy for one key, or for all keys with a prefix. */
export interface Override {
  /** Whether `key` is a whole key or a prefix. */
  readonly kind: 'key' | 'prefix'
  /** The key or the prefix; the hash of a key that has more than 256 characters, and of every key
   *  where the store hashes keys. */
  readonly key: string
  /** What holds for it. */
  readonly policy: Policy
}

export class Overrides {
  readonly #exact = new Map<string, Policy>()
  readonly #byPrefix = new Map<string, Policy>()
  /** The prefixes in order, and for each the place of the longest other prefix that it begins with.
   *  Undefined: to be made when needed. */
  #sorted: { readonly prefixes: readonly string[]; readonly shorter: Int32Array } | undefined

  get size(): number {
    return this.#exact.size + this.#byPrefix.size
  }

  /** @param policy undefined removes the override */
  set(kind: Override['kind'], key: string, policy: Policy | undefined): void {
    const some = kind === 'key' ? this.#exact : this.#byPrefix
    const isKnown = some.has(key)
    if (policy === undefined) some.delete(key)
    else some.set(key, policy)
    if (kind === 'prefix' && isKnown !== some.has(key)) this.#sorted = undefined
  }

  get(kind: Override['kind'], key: string): Policy | undefined {
    return (kind === 'key' ? this.#exact : this.#byPrefix).get(key)
  }

  /** The override of a key: its own, else that of its longest prefix. */
  of(key: string, policyKey: string = key): Policy | undefined {
    const own = this.#exact.get(policyKey)
    if (own !== undefined || this.#byPrefix.size === 0) return own
    this.#sorted ??= sorted([...this.#byPrefix.keys()])
    const { prefixes, shorter } = this.#sorted
    // Finds the last prefix that does not sort after the key. All prefixes of the key are prefixes
    // of that one.
    let low = -1
    let high = prefixes.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((prefixes[middle] as string) <= key) low = middle
      else high = middle
    }
    while (low >= 0 && !key.startsWith(prefixes[low] as string)) low = shorter[low] as number
    return low < 0 ? undefined : this.#byPrefix.get(prefixes[low] as string)
  }

  *[Symbol.iterator](): Generator<Override> {
    for (const [key, policy] of this.#exact) yield { kind: 'key', key, policy }
    for (const [key, policy] of this.#byPrefix) yield { kind: 'prefix', key, policy }
  }
}

function sorted(prefixes: string[]): { prefixes: string[]; shorter: Int32Array } {
  prefixes.sort()
  const shorter = new Int32Array(prefixes.length)
  prefixes.forEach((prefix, place) => {
    let other = place - 1
    while (other >= 0 && !prefix.startsWith(prefixes[other] as string))
      other = shorter[other] as number
    shorter[place] = other
  })
  return { prefixes, shorter }
}
