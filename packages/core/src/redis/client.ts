// What `redisStore` takes besides an ioredis client: a client of another library, adapted by that
// library's entry, so that nobody loads adapters that they do not use.

import { type CodedError, quote, typeError } from '../base/errors.js'
import type { Time } from '../base/time.js'
import type { Connection } from './connection.js'

export interface ConnectionOptions {
  /** How long a reply may take, in ms. No connection is given up as silent before that. */
  readonly deadlineMs: number
  readonly time: Time
}

/** A client for `redisStore`, adapted by `fromNodeRedis` or `fromGlide`. */
export interface AdaptedClient {
  /** The library whose client it is. */
  readonly library: string
}

/** An adapted client, as Weir itself sees it. */
export interface Adapter extends AdaptedClient {
  connectionWith(options: ConnectionOptions): Connection
}

export function isAdapted(client: unknown): client is Adapter {
  return typeof ((client ?? {}) as Partial<Adapter>).connectionWith === 'function'
}

/** The error for what is no client. A text is probably an address, which may hold a password. */
export function noClient(given: unknown, right: string): CodedError {
  const what = typeof given === 'string' ? 'a text' : quote(given)
  return typeError('WEIR_INVALID_OPTION', `client is ${what}; give ${right}`)
}
