// The Redis store, and a request's way through it. Redis is not asked if the deny cache or a lease
// answers, nor while the node's breaker is open.

import { type Place, withPlace } from '../base/places.js'
import { processTime, type Time } from '../base/time.js'
import type { Layer } from '../layer.js'
import { acrossSlots } from '../layers/across-slots.js'
import { withDenyCache } from '../layers/deny-cache.js'
import { Leases } from '../layers/leases/leases.js'
import { withDeadline } from '../layers/resilience/deadlines.js'
import { Resilience } from '../layers/resilience/resilience.js'
import { layeredStore, type ResilientStore } from '../layers/resilience/resilient.js'
import type { StoreHealth } from '../layers/resilience/status.js'
import type { Target } from '../store.js'
import { type AdaptedClient, type Adapter, isAdapted } from './client.js'
import { checkedClient } from './clients/ioredis/check.js'
import type { RedisLike } from './clients/ioredis/redis-like.js'
import { ioredisConnection } from './clients/ioredis.js'
import { isTextClient, type TextClient, textConnection } from './clients/text.js'
import type { Connection } from './connection.js'
import { checkedRedisOptions, type RedisSettings, type RedisStoreOptions } from './options.js'
import type { KeyFormat } from './transport/keys.js'
import { type RedisTransport, redisTransport } from './transport/transport.js'

export type RedisHealth = StoreHealth
export interface RedisStore extends ResilientStore {}

/**
 * Keeps counters in Redis, so that limits hold across processes: see docs/redis.md. You close the
 * client yourself.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_CLOCK
 * @example redisStore(new Redis('redis://localhost:6379', recommendedRedisOptions))
 */
export function redisStore(
  client: RedisLike | AdaptedClient | TextClient,
  options: RedisStoreOptions = {},
): RedisStore {
  return storeOf(client, options, true)
}

/** @param triesPermissions whether to find out what the Redis user may not do by trying, which
 *  writes */
export function storeOf(
  client: Parameters<typeof redisStore>[0],
  options: RedisStoreOptions,
  triesPermissions: boolean,
): RedisStore {
  const connect = connectorOf(client)
  const settings = { ...checkedRedisOptions(options), triesPermissions }
  const { deadlineMs } = settings
  const connection = connect({ deadlineMs, time: processTime })
  return storeOver(connection, settings, processTime)
}

function connectorOf(client: Parameters<typeof redisStore>[0]): Adapter['connectionWith'] {
  if (isAdapted(client)) return (options) => client.connectionWith(options)
  if (isTextClient(client)) return () => textConnection(client)
  const checked = checkedClient(client)
  return (options) => ioredisConnection(checked, options)
}

/** `redisStore` over any connection, with an injected time. */
export function redisStoreIn(
  time: Time,
  connection: Connection,
  options: RedisStoreOptions,
): RedisStore {
  return storeOver(connection, checkedRedisOptions(options), time)
}

function storeOver(connection: Connection, settings: RedisSettings, time: Time): RedisStore {
  const transport = redisTransport(connection, settings, time)
  const layers = layersOver(transport, settings, time)
  const place: Place = { name: placeNameOf(connection, settings.format), isClosed: false }
  const store = layeredStore(layers.first, layers.resilience, {
    local: false,
    reserves: true,
    settings: transport.settings,
    whenCounted: transport.whenCounted,
    async close() {
      place.isClosed = true
      layers.leases?.close()
      transport.close()
      layers.resilience.close()
      await withDeadline(transport.leave(), CLOSING_MS, time, transport.title).catch(() => {})
    },
  })
  return withPlace(store, place)
}

/** Stores that write the same keys have the same name. */
function placeNameOf({ place }: Connection, format: KeyFormat): string {
  const { prefix, hashTags, tagged, isSecret } = format
  return JSON.stringify([...place, prefix, hashTags?.length, isSecret && tagged('')])
}

/** How long closing a store may wait for Redis. */
const CLOSING_MS = 500

/** The layers: deny cache, leases, across slots, resilience; then the backend: batching, exchange,
 *  connection. */
function layersOver(
  transport: Omit<RedisTransport, 'close' | 'leave' | 'settings' | 'whenCounted'>,
  settings: Omit<RedisSettings, 'format' | 'maxInFlight' | 'instances'>,
  time: Time,
): { first: Layer; resilience: Resilience; leases: Leases | undefined } {
  const { denyCache, clock, deadlineMs } = settings
  const { peers, slotsOf } = transport
  const resilience = new Resilience(transport, { ...settings, peers, time })
  let first: Layer = resilience
  if (slotsOf !== undefined) first = acrossSlots(first, { slotsOf, deadlineMs, time })
  const mayTake = (target: Target): boolean => resilience.isCalm(target)
  const leases =
    settings.leases &&
    new Leases(first, {
      ...{ ...settings.leases, clock, time, deadlineMs, mayTake },
      denialsLast: denyCache,
    })
  if (leases !== undefined) first = leases
  if (denyCache) first = withDenyCache(first, { clock, time })
  return { first, resilience, leases }
}
