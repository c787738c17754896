// What the stores for all limiters have in common: one of Weir's limiters for each limit and window
// that is asked for.

import {
  fixedWindow,
  type Policy,
  type PolicyInput,
  RateLimiter,
  type RateLimiterOptions,
  type Store,
  slidingWindow,
} from '@weir/core'

export interface CompatOptions {
  /** Part of keys, after the store's prefix. Stores with one name count together. At most 64
   *  letters, digits, '_', '.' and '-'. Default: the other limiter's name. */
  readonly name?: string | undefined
  /**
   * `'fixed-window'` counts from a key's first request, and begins anew when the window is over, as
   * the other limiters do. `'sliding-window'` never lets more than the limit pass in any window.
   * Default `'fixed-window'`.
   */
  readonly algorithm?: 'fixed-window' | 'sliding-window' | undefined
  /** Whether stores with this name are meant to count together; otherwise Weir warns of a second
   *  one in a process. Default false. */
  readonly shared?: boolean | undefined
}

/** Limits may be made by functions of requests, so there may be many. */
const MOST_LIMITERS = 1_000

/** Makes the function that turns a limit and a window, in ms, into a policy. */
export function windowsOf({ algorithm }: CompatOptions): (limit: number, window: number) => Policy {
  const policyOf = algorithm === 'sliding-window' ? slidingWindow : fixedWindow
  return (limit, window) => policyOf({ limit, window })
}

/** The options that all stores have. */
export const COMMON: readonly string[] = ['name', 'algorithm', 'shared']

interface Common extends Pick<RateLimiterOptions, 'shared' | 'whenUnavailable'> {
  readonly name: string
}

/** The limiters throw WEIR_INVALID_POLICY. */
export function limitersOf<Numbers extends number[]>(
  store: Store,
  { name, whenUnavailable, shared = false }: Common,
  policyOf: (...numbers: Numbers) => PolicyInput,
): (...numbers: Numbers) => RateLimiter {
  const limiters = new Map<string, RateLimiter>()
  return (...numbers) => {
    const id = numbers.join()
    let limiter = limiters.get(id)
    if (limiter === undefined) {
      // A counter belongs to its window: other limits on the same window go on with it.
      limiter = new RateLimiter({
        ...{ name, store, policy: policyOf(...numbers), whenUnavailable },
        shared: shared || limiters.size > 0,
      })
      if (limiters.size === MOST_LIMITERS) dropOldest(limiters)
      limiters.set(id, limiter)
    }
    return limiter
  }
}

function dropOldest(limiters: Map<string, RateLimiter>): void {
  for (const [id, limiter] of limiters) {
    limiter.close()
    limiters.delete(id)
    return
  }
}
