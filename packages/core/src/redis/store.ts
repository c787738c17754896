// The Redis store as users make it: its options, checked, and what it offers. How it decides is in layered.ts.

import { type Clock, checkedClock } from '../base/clock.js'
import { quote, rangeError, typeError } from '../base/errors.js'
import { checkedOptions } from '../base/options.js'
import type { LeaseOptions } from '../layers/leases.js'
import type { Breaker, BreakerState } from '../layers/resilience/breaker.js'
import type { StoreEvents, StoreListener } from '../layers/resilience/events.js'
import { checkedInstances } from '../layers/resilience/peers.js'
import type { Store, WhenUnavailable } from '../store.js'
import { checkClient } from './client/check.js'
import { layeredStore, type Settings } from './compose.js'
import { keyFormat, spreadHashTags } from './transport/keys.js'
import type { RedisLike } from './transport/script-call.js'

export interface RedisStoreOptions {
  /** The first part of every key. Letters, digits, '_', '.', ':' and '-', at most 64. Default `'weir'`. */
  readonly prefix?: string
  /** Time, for tests and simulations. Default: the clock of the Redis server, which all processes share. */
  readonly clock?: Clock
  /**
   * For a Cluster: keys share so many hash tags, spread evenly over the slots, and decisions of one turn of the event loop
   * whose keys share one travel in one call. 2 to 1,024; 16 is good for up to 6 masters. It is part of every key, so a
   * change forgets what was counted. Default: each key has its own, so load spreads best and hardly any calls are shared.
   */
  readonly hashTags?: number
  /**
   * A secret, at least 16 characters: keys then reach Redis only as an HMAC-SHA-256 with it, of which 128 bits are kept. Who
   * sees the keys of the server, its log or a client's traces, which hold all arguments, learns nothing of users and
   * addresses; a hash without a secret could be guessed. All processes need the same one, and another one forgets what
   * was counted. Default: keys are readable.
   */
  readonly hashKeys?: string
  /** How long a decision may wait for Redis, in ms. Default 100. */
  readonly deadlineMs?: number
  /** How many calls may wait for a Redis node at once; beyond, decisions are made as if it were down. Default 1,000. */
  readonly maxInFlight?: number
  /** What to do when Redis cannot decide; a limiter or a policy may say otherwise. Default `'local'`. */
  readonly whenUnavailable?: WhenUnavailable
  /** How many processes share the limits, and which this one is. Default: counted by a heartbeat in Redis. */
  readonly instances?: number | { readonly count: number; readonly rank: number }
  /** Whether a request that was just denied is answered from memory for up to a second. Default true. */
  readonly denyCache?: boolean
  /**
   * Takes up to `units` of a hot key (16 requests and more within `holdMs`) ahead in one call, never more than a tenth of its
   * smallest limit, and hands them out without asking Redis, for up to `holdMs`. Not of buckets. Never lets more pass than Redis granted;
   * but what one process holds the others lack for so long, and a reset or refund elsewhere shows as late. Units are 2 to
   * 10,000, `holdMs` is 1 to 1,000. Default: no leases. Worth it only beyond some 10,000 requests a second for one key.
   */
  readonly leases?: LeaseOptions
  /** A circuit breaker of your own for each node. */
  readonly breaker?: (node: string) => Breaker
  /** Called with a line of text when something happens, at most once a second for each kind. */
  readonly log?: (line: string) => void
}

export interface RedisHealth {
  /** `never-connected` until Redis has answered once; else the worst state of a node's breaker. */
  readonly state: BreakerState | 'never-connected'
  readonly nodes: readonly {
    readonly name: string
    readonly state: BreakerState
    readonly inFlight: number
  }[]
  /** Processes that share the limits, as far as this one knows. */
  readonly instances: number
  /** Keys under which something was admitted locally and is to be settled. */
  readonly localKeys: number
}

export interface RedisStore extends Store {
  health(): RedisHealth
  /** Listens; returns what stops it. What a listener throws becomes a warning. */
  on<Name extends keyof StoreEvents>(name: Name, listener: StoreListener<Name>): () => void
  /** Ends timers and waits, within a second in any state. The client stays open. */
  close(): Promise<void>
}

/**
 * Keeps counters in Redis (6.2 or newer, or Valkey), so that limits hold across processes. A decision is one atomic
 * script on the server's own clock, and is made in time even if Redis is not: see docs/resilience.md. The client stays
 * yours to close.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_CLOCK
 * @example redisStore(new Redis('redis://localhost:6379', recommendedRedisOptions))
 */
export function redisStore(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  checkClient(client)
  checkedOptions(options, 'redisStore()', KNOWN)
  return layeredStore(client, settingsOf(options))
}

const SHORTEST_SECRET = 16

const KNOWN = [
  'prefix',
  'clock',
  'hashTags',
  'hashKeys',
  'deadlineMs',
  'maxInFlight',
  'whenUnavailable',
  'instances',
  'denyCache',
  'leases',
  'breaker',
  'log',
]

function settingsOf(options: RedisStoreOptions): Settings {
  const {
    prefix = 'weir',
    deadlineMs = 100,
    maxInFlight = 1_000,
    whenUnavailable = 'local',
  } = options
  if (typeof prefix !== 'string' || !/^[A-Za-z0-9_.:-]{1,64}$/.test(prefix)) {
    const right = "give 1 to 64 letters, digits, '_', '.', ':' or '-'"
    throw rangeError('WEIR_INVALID_OPTION', `prefix is ${quote(prefix)}; ${right}`)
  }
  for (const [name, value, most] of [
    ['deadlineMs', deadlineMs, 60_000],
    ['maxInFlight', maxInFlight, 1_000_000],
  ] as const) {
    if (!Number.isInteger(value) || value < 1 || value > most) {
      throw rangeError(
        'WEIR_INVALID_OPTION',
        `${name} is ${quote(value)}; give a whole number from 1 to ${most}`,
      )
    }
  }
  if (!['local', 'allow', 'deny', 'throw'].includes(whenUnavailable)) {
    const right = "give 'local', 'allow', 'deny' or 'throw'"
    throw rangeError(
      'WEIR_INVALID_OPTION',
      `whenUnavailable is ${quote(whenUnavailable)}; ${right}`,
    )
  }
  for (const [name, value, type] of [
    ['denyCache', options.denyCache, 'boolean'],
    ['breaker', options.breaker, 'function'],
    ['log', options.log, 'function'],
  ] as const) {
    if (value !== undefined && typeof value !== type) {
      throw typeError('WEIR_INVALID_OPTION', `${name} is ${quote(value)}; give a ${type}`)
    }
  }
  const { hashTags, leases, hashKeys } = options
  if (
    hashKeys !== undefined &&
    (typeof hashKeys !== 'string' || hashKeys.length < SHORTEST_SECRET)
  ) {
    // The secret itself is not shown.
    const right = `give a secret text of at least ${SHORTEST_SECRET} characters`
    throw typeError('WEIR_INVALID_OPTION', `hashKeys is no such text; ${right}`)
  }
  if (leases !== undefined) checkLeases(leases)
  if (
    hashTags !== undefined &&
    !(Number.isInteger(hashTags) && hashTags >= 2 && hashTags <= 1_024)
  ) {
    throw rangeError(
      'WEIR_INVALID_OPTION',
      `hashTags is ${quote(hashTags)}; give a whole number from 2 to 1024`,
    )
  }
  return {
    format: keyFormat(
      prefix,
      hashTags === undefined ? undefined : spreadHashTags(hashTags),
      hashKeys,
    ),
    deadlineMs,
    maxInFlight,
    whenUnavailable,
    clock: options.clock === undefined ? undefined : checkedClock(options.clock),
    instances: options.instances === undefined ? undefined : checkedInstances(options.instances),
    denyCache: options.denyCache !== false,
    leases,
    breaker: options.breaker,
    log: options.log,
  }
}

function checkLeases(leases: LeaseOptions): void {
  checkedOptions(leases, 'leases', ['units', 'holdMs'])
  for (const [name, value, least, most] of [
    ['units', leases.units, 2, 10_000],
    ['holdMs', leases.holdMs, 1, 1_000],
  ] as const) {
    if (!Number.isInteger(value) || value < least || value > most) {
      const right = `give a whole number from ${least} to ${most}`
      throw rangeError('WEIR_INVALID_OPTION', `leases.${name} is ${quote(value)}; ${right}`)
    }
  }
}
