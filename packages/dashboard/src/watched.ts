// What can be shown, recognised by its properties: there may be two copies of a package, so classes
// cannot be compared.

import type { RateLimiter, Store } from '@weir/core'
import type { OverloadPriority } from '@weir/core/http'
import type { LivePolicies } from '@weir/core/live'

/** What the dashboard needs of a limiter; a `RateLimiter` of any copy of @weir/core has it. */
export interface ShownLimiter
  extends Pick<RateLimiter, 'name' | 'stats' | 'peek' | 'reset' | 'block' | 'unblock'> {
  /** False: the limiter is switched off. */
  enabled: boolean
  /** Where the limiter counts. */
  readonly store: ShownStore
}

/** What the dashboard needs of a store. Without `stats`, the page shows no figures of the store;
 *  without `settings`, none of other processes. */
export type ShownStore = Pick<Store, 'stats' | 'settings'>

/** What the dashboard needs of overload protection; `overload()` has it. */
export interface ShownOverload {
  /** The most requests that may be in flight. */
  readonly limit: number
  /** Requests in flight. */
  readonly inFlight: number
  /** Requests refused. */
  readonly refused: number
  /** The results of each class of requests. */
  readonly priorities?: readonly OverloadPriority[]
}

/** What the dashboard needs of live policies; `livePolicies()` has it. */
export type ShownLive = Pick<
  LivePolicies,
  | 'for'
  | 'set'
  | 'unset'
  | 'override'
  | 'remove'
  | 'rollback'
  | 'list'
  | 'overrides'
  | 'history'
  | 'status'
>

/** A limiter, or a middleware that has one; overload protection; or live policies. */
export type Shown = ShownLimiter | { readonly limiter: ShownLimiter } | ShownOverload | ShownLive

/** What to show; or a function that returns what there is now. */
export type Limiters = Iterable<Shown> | (() => Iterable<Shown>)

/** All that is shown, by id: a name, with `#2` behind it for the second of that name. */
export interface All {
  readonly limiters: ReadonlyMap<string, ShownLimiter>
  /** The limiters' stores. */
  readonly stores: ReadonlyMap<string, ShownStore>
  readonly guards: ReadonlyMap<string, ShownOverload>
  readonly live: ReadonlyMap<string, ShownLive>
  /** How many limiters beyond the first 200 are not shown. */
  readonly omitted: number
}

/** The most limiters that are shown. */
const MOST_LIMITERS = 200

/**
 * Makes a function that returns what is shown now.
 * @throws {TypeError} WEIR_INVALID_OPTION
 */
export function allOf(given: Limiters): () => All {
  const idOf = identities()
  if (typeof given === 'function') return () => sorted(given(), idOf)
  // Read here, because an iterator can be read only once.
  const all = sorted(given, idOf)
  return () => all
}

function sorted(given: Iterable<Shown>, idOf: ReturnType<typeof identities>): All {
  const { [Symbol.iterator]: iterator } = (given ?? {}) as Partial<Iterable<Shown>>
  if (typeof iterator !== 'function') throw invalid(given)
  const limiters = new Map<string, ShownLimiter>()
  const stores = new Map<string, ShownStore>()
  const guards = new Map<string, ShownOverload>()
  const live = new Map<string, ShownLive>()
  let omitted = 0
  for (const each of given) {
    const limiter = limiterOf(each)
    if (limiter !== undefined) {
      const id = idOf(limiter, limiter.name)
      if (limiters.size < MOST_LIMITERS || limiters.has(id)) limiters.set(id, limiter)
      else omitted += 1
      const { store } = limiter
      stores.set(idOf(store, store.stats?.().kind ?? 'store'), store)
    } else if (isOverload(each)) guards.set(idOf(each, 'overload'), each)
    else if (isLive(each)) live.set(idOf(each, each.status().name), each)
    else throw invalid(each)
  }
  return { limiters, stores, guards, live, omitted }
}

/** Makes a function that gives things their ids. A thing keeps the id that it was given first. */
function identities(): (it: object, name: string) => string {
  const known = new WeakMap<object, string>()
  const counts = new Map<string, number>()
  return (it, name) => {
    let id = known.get(it)
    if (id === undefined) {
      const count = (counts.get(name) ?? 0) + 1
      counts.set(name, count)
      id = count === 1 ? name : `${name}#${count}`
      known.set(it, id)
    }
    return id
  }
}

function limiterOf(given: Shown): ShownLimiter | undefined {
  const { limiter } = (given ?? {}) as { limiter?: unknown }
  const found = typeof limiter === 'object' && limiter !== null ? limiter : given
  const { stats, peek } = (found ?? {}) as Partial<ShownLimiter>
  const isLimiter = typeof stats === 'function' && typeof peek === 'function'
  return isLimiter ? (found as ShownLimiter) : undefined
}

function isOverload(given: unknown): given is ShownOverload {
  const { limit, inFlight, refused } = (given ?? {}) as Partial<ShownOverload>
  return [limit, inFlight, refused].every((each) => typeof each === 'number')
}

function isLive(given: unknown): given is ShownLive {
  const { status, history, overrides } = (given ?? {}) as Partial<ShownLive>
  return [status, history, overrides].every((each) => typeof each === 'function')
}

function invalid(given: unknown): TypeError {
  const right =
    'give limiters, middleware or live policies of @weir: [rateLimit({ ... }), overload()]'
  const page = 'docs/errors.md#weir_invalid_option'
  const error = new TypeError(
    `limiters has a value of the type ${typeof given}; ${right} (see ${page})`,
  )
  return Object.assign(error, { code: 'WEIR_INVALID_OPTION' })
}
