// What every limiter has, and what users' own limiters extend.

import { misuse, shown } from '../checked.js'
import type { RateLimiterRes } from './result.js'

export type Key = string | number

/** For limiters that wrap others. */
export abstract class RateLimiterCompatibleAbstract {
  abstract get keyPrefix(): string
  abstract get blockDuration(): number
  abstract set blockDuration(seconds: number)
  abstract get execEvenly(): boolean
  abstract set execEvenly(isEven: boolean)
  abstract consume(key: Key, pointsToConsume?: number, options?: object): Promise<RateLimiterRes>
  abstract penalty(key: Key, points?: number, options?: object): Promise<RateLimiterRes>
  abstract reward(key: Key, points?: number, options?: object): Promise<RateLimiterRes>
  abstract get(key: Key, options?: object): Promise<RateLimiterRes | null>
  abstract set(
    key: Key,
    points: number,
    secDuration: number,
    options?: object,
  ): Promise<RateLimiterRes>
  abstract block(key: Key, secDuration: number, options?: object): Promise<RateLimiterRes>
  abstract delete(key: Key, options?: object): Promise<boolean>
}

export type RateLimiterLike = RateLimiterCompatibleAbstract

/** @throws {TypeError} WEIR_INVALID_OPTION */
export function checkedLimiter(what: string, limiter: unknown): RateLimiterLike {
  const { consume, keyPrefix } = (limiter ?? {}) as Partial<RateLimiterLike>
  if (typeof consume === 'function' && typeof keyPrefix === 'string')
    return limiter as RateLimiterLike
  throw misuse(`${what} is ${shown(limiter)}; give a limiter, such as a RateLimiterMemory`)
}
