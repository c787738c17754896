// The options of a Redis store, checked where they enter.

import { type Clock, checkedClock } from '../base/clock.js'
import { quote, rangeError, typeError } from '../base/errors.js'
import { checkedNumber, checkedOptions } from '../base/options.js'
import type { LeaseOptions } from '../layers/leases.js'
import { checkedInstances, type Peers } from '../layers/resilience/peers.js'
import { checkedResilience } from '../layers/resilience/resilient.js'
import type { WhenUnavailable } from '../store.js'
import { type KeyFormat, keyFormat, spreadHashTags } from './transport/keys.js'

export interface RedisStoreOptions {
  /** The first part of every key. Letters, digits, '_', '.', ':' and '-', at most 64. Default
   *  `'weir'`. */
  readonly prefix?: string
  /** Time, for tests and simulations. Default: the clock of the Redis server, which all processes
   *  share. */
  readonly clock?: Clock
  /**
   * For a Cluster: keys share this many hash tags, spread over the slots, and decisions of one
   * turn of the event loop whose keys share one travel in one call. 2 to 1,024; 16 is good for up
   * to 6 masters. It is part of every key, so a change forgets what was counted. Default: each key
   * has its own, so load spreads best and hardly any calls are shared.
   */
  readonly hashTags?: number
  /**
   * A secret, at least 16 characters: keys then reach Redis only as an HMAC-SHA-256 with it, of
   * which 128 bits are kept. Who sees the keys of the server, its log or a client's traces, which
   * hold all arguments, learns nothing of users and addresses; a hash without a secret could be
   * guessed. All processes need the same one, and another one forgets what was counted. Default:
   * keys are readable.
   */
  readonly hashKeys?: string
  /** How long a decision may wait for Redis, in ms. Default 100. */
  readonly deadlineMs?: number
  /** How many calls may wait for a Redis node at once; beyond, decisions are made as if it were
   *  down. Default 1,000. */
  readonly maxInFlight?: number
  /** What to do when Redis cannot decide; a limiter or a policy may say otherwise. Default
   *  `'local'`. */
  readonly whenUnavailable?: WhenUnavailable
  /** How many processes share the limits, and which this one is. Default: counted by a heartbeat in
   *  Redis. */
  readonly instances?: number | { readonly count: number; readonly rank: number }
  /** Whether a request that was just denied is answered from memory for up to a second. Default
   *  true. */
  readonly denyCache?: boolean
  /**
   * Takes up to `units` of a hot key (16 requests and more within `holdMs`) ahead in one call,
   * never more than a tenth of its smallest limit, and hands them out without asking Redis, for up
   * to `holdMs`. Not of buckets. Never lets more pass than Redis granted; but what one process
   * holds the others lack for so long, and a reset or refund elsewhere shows as late. Units are 2
   * to 10,000, `holdMs` is 1 to 1,000. Default: no leases. Worth it only beyond some 10,000
   * requests a second for one key.
   */
  readonly leases?: LeaseOptions
  /** Called with a line of text when something happens, at most once a second for each kind. */
  readonly log?: (line: string) => void
}

/** The options, checked and completed. */
export interface RedisSettings {
  readonly format: KeyFormat
  readonly clock: Clock | undefined
  readonly deadlineMs: number
  readonly maxInFlight: number
  readonly whenUnavailable: WhenUnavailable
  /** Undefined: they are counted. */
  readonly instances: Peers | undefined
  readonly denyCache: boolean
  readonly leases: LeaseOptions | undefined
  readonly log: ((line: string) => void) | undefined
}

const SHORTEST_SECRET = 16
const TYPES = { denyCache: 'boolean', log: 'function' } as const
const KNOWN: Readonly<Record<keyof RedisStoreOptions, true>> = {
  prefix: true,
  clock: true,
  hashTags: true,
  hashKeys: true,
  deadlineMs: true,
  maxInFlight: true,
  whenUnavailable: true,
  instances: true,
  denyCache: true,
  leases: true,
  log: true,
}

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_CLOCK */
export function checkedRedisOptions(options: RedisStoreOptions): RedisSettings {
  checkedOptions(options, 'redisStore()', Object.keys(KNOWN))
  const {
    prefix = 'weir',
    maxInFlight = 1_000,
    hashTags,
    hashKeys,
    leases,
    clock,
    instances,
  } = options
  if (typeof prefix !== 'string' || !/^[A-Za-z0-9_.:-]{1,64}$/.test(prefix)) {
    const right = "give 1 to 64 letters, digits, '_', '.', ':' or '-'"
    throw rangeError('WEIR_INVALID_OPTION', `prefix is ${quote(prefix)}; ${right}`)
  }
  const { deadlineMs, whenUnavailable } = checkedResilience(options)
  checkedNumber('maxInFlight', maxInFlight, 1, 1_000_000)
  for (const [name, type] of Object.entries(TYPES)) {
    const value = options[name as keyof typeof TYPES]
    if (value !== undefined && typeof value !== type) {
      throw typeError('WEIR_INVALID_OPTION', `${name} is ${quote(value)}; give a ${type}`)
    }
  }
  const isSecret = typeof hashKeys === 'string' && hashKeys.length >= SHORTEST_SECRET
  if (hashKeys !== undefined && !isSecret) {
    // The secret itself is not shown.
    const right = `give a secret text of at least ${SHORTEST_SECRET} characters`
    throw typeError('WEIR_INVALID_OPTION', `hashKeys is not valid; ${right}`)
  }
  if (hashTags !== undefined) checkedNumber('hashTags', hashTags, 2, 1_024)
  if (leases !== undefined) {
    checkedOptions(leases, 'leases', ['units', 'holdMs'])
    checkedNumber('leases.units', leases.units, 2, 10_000)
    checkedNumber('leases.holdMs', leases.holdMs, 1, 1_000)
  }
  const tags = hashTags === undefined ? undefined : spreadHashTags(hashTags)
  return {
    format: keyFormat(prefix, tags, hashKeys),
    deadlineMs,
    maxInFlight,
    whenUnavailable,
    clock: clock === undefined ? undefined : checkedClock(clock),
    instances: instances === undefined ? undefined : checkedInstances(instances),
    denyCache: options.denyCache !== false,
    leases,
    log: options.log,
  }
}
