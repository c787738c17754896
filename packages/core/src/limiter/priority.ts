// Priority classes: how much of each limit a request of a class has to leave to others.

import { checkedName } from '../algorithms/policy.js'
import { memoized } from '../base/cache.js'
import { invalid, quote } from '../base/errors.js'
import { reservedUnits } from '../base/reserved-units.js'
import type { PolicySet } from '../store.js'
import type { LimiterRequest } from './limiter-request.js'

/** The class that always exists. It leaves nothing, unless `reserve` says otherwise. */
const CRITICAL = 'critical'

/** The classes of a limiter. */
export class Priorities {
  /** By name, the fraction that is left to others. */
  readonly #reserves: ReadonlyMap<string, number>
  readonly #keepsOf: (policySet: PolicySet) => ReadonlyMap<string, readonly number[]>

  /** @param reserve as `checkReserve` has checked it */
  constructor(reserve: Readonly<Record<string, number>> = {}) {
    const reserves = new Map([[CRITICAL, 0], ...Object.entries(reserve)])
    this.#reserves = reserves
    this.#keepsOf = memoized(({ policies }) => {
      // A lock-out leaves nothing to others: it counts a key's attempts, whatever their class.
      const keepOf = (fraction: number) =>
        policies.map(({ limit, kernel }) => {
          return kernel?.traits.blocks ? 0 : reservedUnits(fraction, limit)
        })
      return new Map([...reserves].map(([name, fraction]) => [name, keepOf(fraction)]))
    })
  }

  /** @throws {TypeError | RangeError} WEIR_INVALID_PRIORITY unless it is one of the classes */
  check(priority: unknown): void {
    if (this.has(priority)) return
    const right = [...this.#reserves.keys()].map(quote).join(', ')
    throw invalid('WEIR_INVALID_PRIORITY', 'priority', priority, right, 'string')
  }

  has(priority: unknown): priority is string {
    return this.#reserves.has(priority as string)
  }

  /** The fraction that a class leaves to others. */
  reserveOf(name: string): number {
    return this.#reserves.get(name) as number
  }

  /** The names of all classes. */
  get names(): Iterable<string> {
    return this.#reserves.keys()
  }

  /** The class that leaves most. */
  get lowest(): string {
    let lowest = CRITICAL
    for (const [name, fraction] of this.#reserves)
      if (fraction > this.reserveOf(lowest)) lowest = name
    return lowest
  }

  /** The request, whose mode must judge, with a class that `check` has accepted; undefined: without
   *  one. */
  request<Of extends LimiterRequest>(request: Of, priority: string | undefined): Of {
    if (priority === undefined) return request
    return { ...request, priority, keep: this.#keepsOf(request.target.policySet).get(priority) }
  }
}

/**
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION or WEIR_INVALID_NAME unless it has fractions
 * by the names of classes
 */
export function checkReserve(reserve: unknown): void {
  const right = 'fractions from 0 to 1 by the names of classes, as in { normal: 0.2, batch: 0.5 }'
  if (typeof reserve !== 'object' || reserve === null || Array.isArray(reserve))
    throw invalid('WEIR_INVALID_OPTION', 'reserve', reserve, right)
  for (const [name, fraction] of Object.entries(reserve)) {
    checkedName(name, 'a class of reserve')
    if (typeof fraction === 'number' && fraction >= 0 && fraction <= 1) continue
    const what = `reserve of class "${name}"`
    throw invalid('WEIR_INVALID_OPTION', what, fraction, 'a fraction from 0 to 1', 'number')
  }
}
