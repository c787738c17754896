// The Redis store, and the way of a request through it. Redis is not asked by what a deny cache or
// a lease answers, and while the breaker of its node is open.

import { processTime, type Time } from '../base/time.js'
import { acrossSlots } from '../layers/across-slots.js'
import { withDenyCache } from '../layers/deny-cache.js'
import type { Layer } from '../layers/layer.js'
import { type LeaseLayer, withLeases } from '../layers/leases.js'
import type { Backend, StoreHealth } from '../layers/resilience/backend.js'
import { type Events, storeEvents } from '../layers/resilience/events.js'
import { withDeadline } from '../layers/resilience/failures.js'
import { layeredStore, type ResilientStore } from '../layers/resilience/layered-store.js'
import type { Peers } from '../layers/resilience/peers.js'
import { Resilience } from '../layers/resilience/resilience.js'
import type { Target } from '../store.js'
import { checkClient } from './client/check.js'
import type { RedisLike } from './client/client.js'
import { checkedRedisOptions, type RedisSettings, type RedisStoreOptions } from './options.js'
import { redisTransport } from './transport/transport.js'

export type RedisHealth = StoreHealth
export interface RedisStore extends ResilientStore {}

/**
 * Keeps counters in Redis (6.2 or newer, or Valkey), so that limits hold across processes. A
 * decision is one atomic script on the server's own clock, and is made in time even if Redis is
 * not: see docs/resilience.md. The client stays yours to close.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_CLOCK
 * @example redisStore(new Redis('redis://localhost:6379', recommendedRedisOptions))
 */
export function redisStore(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  return redisStoreIn(processTime, client, options)
}

/** `redisStore` in another time than the process's. */
export function redisStoreIn(
  time: Time,
  client: RedisLike,
  options: RedisStoreOptions,
): RedisStore {
  checkClient(client)
  const settings = checkedRedisOptions(options)
  const transport = redisTransport(client, settings, time)
  const layers = layersOver(
    transport,
    { ...settings, peers: transport.peers, slotsOf: transport.slotsOf },
    time,
  )
  return layeredStore({
    ...layers,
    local: false,
    async close() {
      layers.leases?.close()
      transport.close()
      layers.resilience.close()
      await withDeadline(transport.leave(), CLOSING_MS, time).catch(() => {})
    },
  })
}

/** How long closing a store may wait for Redis. */
const CLOSING_MS = 500

export interface LayersOptions extends Omit<RedisSettings, 'format' | 'maxInFlight' | 'instances'> {
  readonly peers: () => Peers
  /** Of a Cluster: the slots of a target's keys. */
  readonly slotsOf: ((target: Target) => readonly number[]) | undefined
}

/** Deny cache, leases, across slots, resilience; then the backend: batching, dispatcher, client. */
export function layersOver(
  backend: Backend,
  options: LayersOptions,
  time: Time,
): { first: Layer; resilience: Resilience; leases: LeaseLayer | undefined; events: Events } {
  const { slotsOf, denyCache, clock, deadlineMs } = options
  const events = storeEvents(options.log, time)
  const resilience = new Resilience(backend, { ...options, events, time })
  let first: Layer = resilience
  if (slotsOf !== undefined) first = acrossSlots(first, { slotsOf, deadlineMs, time })
  const leases = options.leases && withLeases(first, { ...options.leases, clock, time })
  if (leases !== undefined) first = leases
  if (denyCache) first = withDenyCache(first, { clock, time })
  return { first, resilience, leases, events }
}
