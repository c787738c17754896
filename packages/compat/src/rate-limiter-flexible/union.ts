// Several limiters that are asked at once, each of which counts for itself.

import { misuse } from '../checked.js'
import { checkedLimiter, type Key, type RateLimiterLike } from './compatible.js'
import type { RateLimiterRes } from './result.js'

/**
 * Grants what all of its limiters grant. What one of them refuses is still charged by the others,
 * as in rate-limiter-flexible. Give each limiter a `keyPrefix`, by which results are told apart.
 * @throws {TypeError} WEIR_INVALID_OPTION
 */
export class RateLimiterUnion {
  readonly #limiters: readonly RateLimiterLike[]

  constructor(...limiters: RateLimiterLike[]) {
    if (limiters.length === 0) throw misuse('RateLimiterUnion has no limiter; give one or more')
    this.#limiters = limiters.map((limiter) => checkedLimiter('a limiter of a union', limiter))
  }

  /** Resolves to all results by key prefix, and rejects with the results of the limiters that
   *  refused. */
  async consume(key: Key, points: number = 1): Promise<Record<string, RateLimiterRes>> {
    const asked = this.#limiters.map((limiter) => limiter.consume(key, points))
    const settled = await Promise.allSettled(asked)
    const granted: Record<string, RateLimiterRes> = {}
    const refused: Record<string, unknown> = {}
    for (const [i, result] of settled.entries()) {
      const { keyPrefix } = this.#limiters[i] as RateLimiterLike
      if (result.status === 'fulfilled') granted[keyPrefix] = result.value
      else refused[keyPrefix] = result.reason
    }
    if (settled.some(({ status }) => status === 'rejected')) throw refused
    return granted
  }
}
