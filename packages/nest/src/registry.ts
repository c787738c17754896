// An application's limiters, by name.

import type { RateLimiter } from '@weir/core'
import { policyNames } from '@weir/core/http'
import { invalid } from './exception.js'
import { behind, type Limit, type Limits, limitOf, type Names } from './limit.js'
import type { RateLimitOptions, Settings } from './options.js'

export interface Registry {
  /** The limiters that hold where no decorator says otherwise. */
  defaults: Limits
  /** All limiters, including those that share a name. */
  readonly limiters: ReadonlySet<RateLimiter>
  /** Whether an interceptor is needed: a limiter runs after the guards, or may hold slots. */
  readonly isIntercepting: boolean
  /** @param source the object that names the limiter: one source makes one limiter, wherever it is
   *  used. Undefined: the limiter is named after the place where it is written */
  add(given: RateLimitOptions, names: Names, source?: object): Limit
  /** Makes a limiter on the counters of another. */
  beside(given: RateLimitOptions, names: Names): Limit
  /** @throws if there is no limiter with this name */
  named(name: string, where: string): Limit
  /** Resolves a name: the module's default may have its own. */
  called(name: string): string
}

/** @param settings what all limiters inherit */
export function registryOf(settings: Settings): Registry {
  const known = new Map<string, { readonly limit: Limit; readonly source: object | undefined }>()
  const limiters = new Set<RateLimiter>()
  let isIntercepting = false

  function build(given: RateLimitOptions, names: Names, shared?: { shared: true }): Limit {
    try {
      const inherited = { ...behind(settings, given), ...hidden(settings, given, names), ...shared }
      const limit = limitOf(given, inherited, names, known.get(names.name)?.limit.limiter)
      limiters.add(limit.limiter)
      isIntercepting ||= limit.isLate || limit.mayHold
      return limit
    } catch (error) {
      if (error instanceof Error) error.message = `limiter of ${names.limiter}: ${error.message}`
      throw error
    }
  }

  return {
    defaults: [],
    limiters,
    get isIntercepting() {
      return isIntercepting
    },
    add(given, names, source) {
      const taken = known.get(names.limiter)
      if (source !== undefined && taken?.source === source) return taken.limit
      if (taken !== undefined && !given.shared) throw clash(names)
      const limit = build(given, names)
      if (taken === undefined) known.set(names.limiter, { limit, source })
      return limit
    },
    beside: (given, names) => build(given, names, { shared: true }),
    named(name, where) {
      const found =
        known.get(this.called(name)) ??
        // By the name in metrics, which may be shortened.
        [...known.values()].find(({ limit }) => limit.limiter.name === name)
      if (found !== undefined) return found.limit
      throw invalid(`${where}: there is no limiter "${name}"; there are ${some(known.keys())}`)
    },
    called(name) {
      const isDefault = name === 'default' && !known.has(name)
      return (isDefault && this.defaults[0]?.names.name) || name
    },
  }
}

/** The module may hide policies that only some decorators have: this keeps those that this limiter
 *  has. */
function hidden(
  { hide }: Settings,
  { policy }: RateLimitOptions,
  { limiter, shown }: Names,
): Settings {
  if (hide === undefined || typeof policy === 'function') return {}
  const names = policy === undefined ? [shown] : policyNames(policy, limiter)
  return { hide: hide.filter((name) => names.includes(name)) }
}

function clash({ limiter }: Names): Error {
  const remedy =
    'give one of them a name: @RateLimit({ name, ... }); or shared: true if they are to count together'
  return invalid(
    `two limiters are called "${limiter}", so they would count together; ${remedy}`,
    'WEIR_NAME_CLASH',
  )
}

const MOST_LISTED = 20

/** The first names: there may be hundreds. */
function some(names: Iterable<string>): string {
  const all = [...names]
  const more = all.length > MOST_LISTED ? ` and ${all.length - MOST_LISTED} more` : ''
  return all.slice(0, MOST_LISTED).join(', ') + more || 'none'
}
