// The places in which stores count. Stores with the same place share their counters, as limiters
// with the same name do on one store. A place refers to neither its store nor a client.

/** All copies of this module share the symbol: a store may come from another copy. */
const PLACE: unique symbol = Symbol.for('@weir/core:place-1')

export interface Place {
  /** Equal names, equal counters. */
  readonly name: string
  /** The store no longer counts, so its limiters' names are free. */
  isClosed: boolean
}

/** A store with its place. */
export function withPlace<Of extends object>(store: Of, place: Place): Of {
  return { ...store, [PLACE]: place }
}

/** Undefined: the store shares its counters with no other. */
export function placeOf(store: object): Place | undefined {
  return (store as { readonly [PLACE]?: Place })[PLACE]
}
