// A limiter for the rate, and one for bursts above it.

import type { Key, RateLimiterLike } from './compatible.js'
import { RateLimiterRes } from './result.js'

/** Grants what the first limiter grants, or else the second. Results are the first limiter's. */
export class BurstyRateLimiter {
  readonly #rate: RateLimiterLike
  readonly #burst: RateLimiterLike

  constructor(rateLimiter: RateLimiterLike, burstLimiter: RateLimiterLike) {
    this.#rate = rateLimiter
    this.#burst = burstLimiter
  }

  async consume(key: Key, pointsToConsume: number = 1, options?: object): Promise<RateLimiterRes> {
    try {
      return await this.#rate.consume(key, pointsToConsume, options)
    } catch (refused) {
      if (refused instanceof Error) throw refused
      const { consume } = this.#burst
      const burst = await consume
        .call(this.#burst, key, pointsToConsume, options)
        .catch((error) => {
          throw error instanceof Error ? error : sooner(refused as RateLimiterRes, error)
        })
      return sooner(refused as RateLimiterRes, burst)
    }
  }

  async get(key: Key): Promise<RateLimiterRes | null> {
    const [rate, burst] = await Promise.all([this.#rate.get(key), this.#burst.get(key)])
    return rate === null ? null : sooner(rate, burst)
  }

  get points(): number {
    return (this.#rate as { readonly points?: number }).points ?? 0
  }
}

function sooner(rate: RateLimiterRes, burst: RateLimiterRes | null): RateLimiterRes {
  const { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration } = rate
  const ms = Math.min(msBeforeNext, burst?.msBeforeNext ?? 0)
  return new RateLimiterRes(remainingPoints, ms, consumedPoints, isFirstInDuration)
}
