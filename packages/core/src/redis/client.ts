// What `redisStore` takes beside an ioredis client: a client of another library, adapted by that
// library's entry, so that nobody loads adapters that they do not use.

import type { Time } from '../base/time.js'
import type { Connection } from './connection.js'

export interface ConnectionOptions {
  /** How long a reply may take. A connection is not given up as silent before. */
  readonly deadlineMs: number
  readonly time: Time
}

/** A client for `redisStore`, adapted by `fromNodeRedis` or `fromGlide`. */
export interface AdaptedClient {
  /** Whose client it is. */
  readonly library: 'node-redis' | 'glide'
}

/** What it is to Weir itself. */
export interface Adapter extends AdaptedClient {
  connectionWith(options: ConnectionOptions): Connection
}

export function isAdapted(client: unknown): client is Adapter {
  return typeof ((client ?? {}) as Partial<Adapter>).connectionWith === 'function'
}
