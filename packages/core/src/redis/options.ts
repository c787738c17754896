// The options of a Redis store, checked where they enter.

import { type Clock, checkedClock } from '../base/clock.js'
import { invalid, rangeError, typeError } from '../base/errors.js'
import {
  type Checks,
  checkAll,
  checkedNumber,
  checkedOptions,
  ofType,
  unchecked,
  wholeNumber,
} from '../base/options.js'
import { LEAST_MS, type LeaseOptions } from '../layers/leases/limits.js'
import {
  RESILIENT_CHECKS,
  type ResilientOptions,
  type ResilientSettings,
  resilientSettings,
} from '../layers/resilience/resilient.js'
import { type KeyFormat, keyFormat, spreadHashTags } from './transport/keys.js'

export interface RedisStoreOptions extends ResilientOptions {
  /** The first part of every key: at most 64 letters, digits, '_', '.', ':' and '-'. Default
   *  `'weir'`. */
  readonly prefix?: string | undefined
  /** For tests and simulations. Default: the Redis server's, which all processes share. */
  readonly clock?: Clock | undefined
  /**
   * For a Cluster: how many hash tags keys share, from 2 to 1,024, so that decisions share calls:
   * see docs/redis.md. 16 is good for up to 6 masters. A change forgets what was counted. Default:
   * each key has its own.
   */
  readonly hashTags?: number | undefined
  /**
   * A secret of at least 16 characters, the same in all processes: Redis then sees keys only as 128
   * bits of their HMAC-SHA-256. Another secret forgets what was counted. Default: keys are
   * readable.
   */
  readonly hashKeys?: string | undefined
  /** How many calls may wait for a Redis node, from 1 to 1,000,000; beyond that, decisions are made
   *  as if it were down. Default 1,000. */
  readonly maxInFlight?: number | undefined
  /** How many processes share the limits and, as `rank` from 0, which of them this one is. Default:
   *  a heartbeat in Redis counts them. */
  readonly instances?: number | { readonly count: number; readonly rank: number } | undefined
  /**
   * Whether memory repeats a denial, for up to a second. What other processes refund or reset under
   * its key shows after that second. Default true.
   */
  readonly denyCache?: boolean | undefined
  /**
   * Takes up to `units` of a hot key ahead (2 to 10,000), and hands them out for up to `holdMs` (5
   * to 1,000 ms) without asking Redis: see docs/scaling.md.
   */
  readonly leases?: LeaseOptions | undefined
}

/** The options, checked and completed. `instances` undefined: the heartbeat counts them. */
export interface RedisSettings extends ResilientSettings {
  readonly format: KeyFormat
  readonly clock: Clock | undefined
  readonly maxInFlight: number
  readonly denyCache: boolean
  readonly leases: LeaseOptions | undefined
  /** Default true. */
  readonly triesPermissions?: boolean
}

const CHECKS: Checks<RedisStoreOptions> = {
  ...RESILIENT_CHECKS,
  prefix: checkPrefix,
  clock: unchecked,
  hashTags: wholeNumber(2, 1_024),
  hashKeys: checkSecret,
  maxInFlight: wholeNumber(1, 1_000_000),
  denyCache: ofType('boolean'),
  leases: checkLeases,
}

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_CLOCK */
export function checkedRedisOptions(options: RedisStoreOptions): RedisSettings {
  checkAll(options, 'redisStore()', CHECKS)
  const { prefix = 'weir', maxInFlight = 1_000, denyCache = true } = options
  const { hashTags, hashKeys, clock, leases } = options
  const tags = hashTags === undefined ? undefined : spreadHashTags(hashTags)
  return {
    ...resilientSettings(options),
    format: keyFormat(prefix, tags, hashKeys),
    clock: clock === undefined ? undefined : checkedClock(clock),
    maxInFlight,
    denyCache,
    leases,
  }
}

function checkPrefix(prefix: unknown): void {
  if (typeof prefix === 'string' && /^[A-Za-z0-9_.:-]{1,64}$/.test(prefix)) return
  const right = "1 to 64 letters, digits, '_', '.', ':' or '-'"
  throw invalid('WEIR_INVALID_OPTION', 'prefix', prefix, right, 'string')
}

/** Both are required. */
function checkLeases(leases: unknown): void {
  checkedOptions(leases as object, 'leases', ['units', 'holdMs'])
  const { units, holdMs } = leases as LeaseOptions
  checkedNumber('leases.units', units, 2, 10_000)
  checkedNumber('leases.holdMs', holdMs, LEAST_MS, 1_000)
}

function checkSecret(secret: unknown): void {
  if (typeof secret === 'string' && secret.length >= SHORTEST_SECRET) return
  // The secret itself is not shown.
  const right = `give a secret text of at least ${SHORTEST_SECRET} characters`
  const error = typeof secret === 'string' ? rangeError : typeError
  throw error('WEIR_INVALID_OPTION', `hashKeys is not valid; ${right}`)
}

const SHORTEST_SECRET = 16
