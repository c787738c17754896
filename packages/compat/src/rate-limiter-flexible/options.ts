// The options, under rate-limiter-flexible's names, and the values that they may have here.

import { misuse, shown } from '../checked.js'
import type { RateLimiterLike } from './compatible.js'
import { LONGEST_MS } from './counters.js'

export interface IRateLimiterOptions {
  /** Limiters with one prefix and duration on one store count together. Default `'rlflx'`. */
  keyPrefix?: string | undefined
  /** A whole number from 0. */
  points: number
  /** Seconds, from 0.001 to ten years. */
  duration: number
  /** Whether `consume` delays what it grants, so that grants are spread over the duration. Default
   *  false. */
  execEvenly?: boolean | undefined
  /** The shortest delay of `execEvenly`, in ms. Default: duration / points. */
  execEvenlyMinDelayMs?: number | undefined
  /** How long a key that is past its limit is blocked, in seconds. Default 0: not at all. */
  blockDuration?: number | undefined
  /** For a RateLimiterRedis: the limiter that decides while Redis is away. Default: nothing, and
   *  each process keeps its part of the limit. */
  insuranceLimiter?: RateLimiterLike | undefined
}

export interface IRateLimiterStoreOptions extends IRateLimiterOptions {
  /** A client of ioredis, iovalkey or node-redis, or a store of Weir's. */
  // biome-ignore lint/suspicious/noExplicitAny: as rate-limiter-flexible has it
  storeClient: any
  /** At how many consumed points a key is blocked for `blockDuration`. Default: points + 1. */
  blockOnConsumed?: number | undefined
  /** At how many consumed points a key is refused without asking Redis. Default 0: never. */
  inMemoryBlockOnConsumed?: number | undefined
  /** For how long it is refused without asking Redis, in seconds. Default: until the window or the
   *  block ends. */
  inMemoryBlockDuration?: number | undefined
}

export interface IRateLimiterRedisOptions extends IRateLimiterStoreOptions {
  /** Has no effect: Weir waits for no client that is not ready. */
  rejectIfRedisNotReady?: boolean | undefined
  /** Has no effect, as in rate-limiter-flexible. */
  storeType?: string | undefined
  /** Has no effect: Weir sees which library a client is from. */
  useRedisPackage?: boolean | undefined
}

export function checkedPoints(what: string, value: unknown, least = 0): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number
  throw misuse(`${what} is ${shown(value)}; give a whole number from ${least}`)
}

/** Converts seconds to whole ms. */
export function msOf(what: string, seconds: unknown): number {
  const ms = typeof seconds === 'number' ? Math.round(seconds * 1_000) : Number.NaN
  if (ms >= 1 && ms <= LONGEST_MS) return ms
  const never = seconds === 0 ? ', which would be for ever' : ''
  const right = `seconds, from 0.001 to ${LONGEST_MS / 1_000} (ten years)`
  throw misuse(`${what} is ${shown(seconds)}${never}; give ${right}`)
}
