// The options, by the names that rate-limiter-flexible has for them, and what they may be here.

import { misuse, shown } from '../checked.js'
import type { RateLimiterLike } from './compatible.js'
import { LONGEST_MS } from './counters.js'

export interface IRateLimiterOptions {
  /** Limiters of one prefix and duration on one store count together. Default `'rlflx'`. */
  keyPrefix?: string | undefined
  /** A whole number from 0. */
  points: number
  /** Seconds, from 0.001 to ten years. */
  duration: number
  /** Whether `consume` resolves later, so that what it lets through is spread over the duration.
   *  Default false. */
  execEvenly?: boolean | undefined
  /** The least delay that `execEvenly` has, in ms. Default: duration / points. */
  execEvenlyMinDelayMs?: number | undefined
  /** How long a key is blocked that is past its limit, in seconds. Default 0, which is not at
   *  all. */
  blockDuration?: number | undefined
  /** Of a RateLimiterRedis: what is asked while Redis is away. Default: nothing, and each process
   *  keeps its part of the limit. */
  insuranceLimiter?: RateLimiterLike | undefined
}

export interface IRateLimiterStoreOptions extends IRateLimiterOptions {
  /** A client of ioredis, iovalkey or node-redis, or a store of Weir's. */
  // biome-ignore lint/suspicious/noExplicitAny: as rate-limiter-flexible has it
  storeClient: any
  /** From how many points on a key is blocked for `blockDuration`. Default: points + 1. */
  blockOnConsumed?: number | undefined
  /** From how many points on a key is refused without asking Redis. Default 0, which is never. */
  inMemoryBlockOnConsumed?: number | undefined
  /** For how long, in seconds. Default: until the window or the block ends. */
  inMemoryBlockDuration?: number | undefined
}

export interface IRateLimiterRedisOptions extends IRateLimiterStoreOptions {
  /** Has no effect: Weir waits for no client that is not ready. */
  rejectIfRedisNotReady?: boolean | undefined
  /** Has no effect, as there. */
  storeType?: string | undefined
  /** Has no effect: which library a client is of shows. */
  useRedisPackage?: boolean | undefined
}

export function checkedPoints(what: string, value: unknown, least = 0): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number
  throw misuse(`${what} is ${shown(value)}; give a whole number from ${least}`)
}

/** Whole ms of seconds. */
export function msOf(what: string, seconds: unknown): number {
  const ms = typeof seconds === 'number' ? Math.round(seconds * 1_000) : Number.NaN
  if (ms >= 1 && ms <= LONGEST_MS) return ms
  const never = seconds === 0 ? ', which would be for ever' : ''
  const right = `seconds, from 0.001 to ${LONGEST_MS / 1_000} (ten years)`
  throw misuse(`${what} is ${shown(seconds)}${never}; give ${right}`)
}
