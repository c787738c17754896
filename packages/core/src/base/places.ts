// Where stores count. Stores of one place share their counters, as limiters of one name do on one
// store. A place holds neither its store nor a client.

/** A symbol of all copies of this module: a store may come from another one. */
const PLACE: unique symbol = Symbol.for('@weir/core:place-1')

export interface Place {
  /** Equal names, equal counters. */
  readonly name: string
  /** The store counts no more, so the names of its limiters are free. */
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
