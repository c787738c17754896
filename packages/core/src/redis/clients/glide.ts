// The entry @weir/core/glide: clients of Valkey GLIDE, version 2, for one server and for a Cluster.
//
// GLIDE is a Rust library that connects, waits, retries and writes in a thread of its own. It has
// no events, and of its state it shows only whether it is closed. So the adapter learns about a
// client from its replies and errors.

import type { AdaptedClient, Adapter } from '../client.js'
import type { Connection } from '../connection.js'
import { checkedClient, type GlideLike } from './glide/client.js'
import { databaseOf, placeOfClient } from './glide/place.js'
import { watchOf } from './glide/watch.js'

export type { AdaptedClient } from '../client.js'
export type { GlideLike } from './glide/client.js'
export * from './glide/recommended.js'

/**
 * A client of Valkey GLIDE, version 2, for `redisStore`. You close it yourself.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION: it is none of these clients, is closed, or
 * reads from replicas only
 * @example
 * const addresses = [{ host: 'localhost', port: 6379 }]
 * const client = await GlideClient.createClient({ addresses, ...recommendedGlideOptions })
 * const store = redisStore(fromGlide(client))
 */
export function fromGlide(client: GlideLike): AdaptedClient {
  const isCluster = checkedClient(client)
  const adapter: Adapter = {
    library: 'glide',
    connectionWith: () => connectionOf(client, isCluster),
  }
  return adapter
}

function connectionOf(client: GlideLike, isCluster: boolean): Connection {
  const watch = watchOf(client)
  const { call } = watch
  return {
    place: placeOfClient(client),
    isCluster,
    keyPrefix: '',
    database: databaseOf(client),
    nodeOf: (slot) => watch.masters[slot],
    call,
    // GLIDE finds the node of a command by its keys, and decides what leaves in a write.
    inOneWrite(_, items, ask) {
      for (const item of items) ask(item, call)
    },
    unready: () => watch.unready(),
    attempt: () => watch.attempt(),
  }
}
