// Where a client connects, as far as its options say. Equal texts are one place; one place may have
// several texts, such as 'localhost' and '127.0.0.1', or two nodes of one Cluster.

import { memoized } from '../../../base/cache.js'
import { databaseNumber } from './database.js'
import type { RedisLike } from './redis-like.js'

interface Address {
  readonly host?: unknown
  readonly port?: unknown
}

/** What is read of ioredis's options. */
interface Options extends Address {
  readonly path?: unknown
  readonly keyPrefix?: unknown
  readonly sentinels?: readonly Address[] | null
  /** Name of the master that the Sentinels watch. */
  readonly name?: unknown
}

let strangers = 0
/** The name of a client that does not say where it connects. */
const strangerOf = memoized((_: RedisLike) => {
  strangers += 1
  return `#${strangers}`
})

/** Address or nodes, database and keyPrefix. */
export function placeOfClient(client: RedisLike): readonly string[] {
  const { keyPrefix, ...options } = (client.options ?? {}) as Options
  return [addressOf(client, options), String(databaseNumber(client)), String(keyPrefix ?? '')]
}

function addressOf(client: RedisLike, options: Options): string {
  const { host, port, path, sentinels, name } = options
  const nodes = client.isCluster
    ? (client as { readonly startupNodes?: unknown }).startupNodes
    : sentinels
  if (Array.isArray(nodes)) return `${nodes.map(nodeOf).sort()} ${name ?? ''}`
  if (client.isCluster !== true && path) return String(path)
  if (client.isCluster !== true && host !== undefined) return `${host}:${port}`
  return strangerOf(client)
}

/** ioredis takes a node as an address, a port or a URL, which may have a password. */
function nodeOf(node: Address | number | string | null): string {
  if (typeof node !== 'object' || node === null) return String(node).replace(/^.*@/, '')
  return `${node.host}:${node.port}`
}
