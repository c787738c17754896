// Where a client of node-redis connects, as far as its options say; and what it puts before keys.
// Equal texts are one place.

import { memoized } from '../../../base/cache.js'
import type { NodeRedisLike } from './client.js'

interface Address {
  readonly host?: unknown
  readonly port?: unknown
  readonly path?: unknown
}

/** What Weir reads of the options of any kind of client. */
interface Options {
  readonly url?: string
  readonly socket?: Address
  readonly database?: number
  readonly rootNodes?: readonly Options[]
  readonly sentinelRootNodes?: readonly Address[]
  /** Name of the master that the Sentinels watch. */
  readonly name?: string
  readonly keyPrefix?: unknown
}

let strangers = 0
/** The name of a client that does not say where it connects. */
const strangerOf = memoized((_: NodeRedisLike) => {
  strangers += 1
  return `node-redis #${strangers}`
})

/** Address or nodes, database and prefix. */
export function placeOfClient(client: NodeRedisLike): readonly string[] {
  const options = optionsOf(client)
  return [addressOf(client, options), String(options.database ?? 0), prefixOf(client)]
}

/** Version 6 has the prefix as an option, which `sendCommand` does not apply. */
export function prefixOf(client: NodeRedisLike): string {
  return String(optionsOf(client).keyPrefix ?? '')
}

function optionsOf(client: NodeRedisLike): Options {
  const { options, _options } = client as { options?: Options; _options?: Options }
  return options ?? _options ?? {}
}

function addressOf(client: NodeRedisLike, options: Options): string {
  const { rootNodes, sentinelRootNodes, name } = options
  if (sentinelRootNodes !== undefined) return `${sentinelRootNodes.map(textOf).sort()} ${name}`
  if (rootNodes !== undefined) return rootNodes.map(nodeOf).sort().join()
  if (options.socket !== undefined || options.url !== undefined) return nodeOf(options)
  return strangerOf(client)
}

/** A URL may have a password and the number of a database, which are left out. */
function nodeOf({ url, socket }: Options): string {
  if (socket?.host !== undefined || socket?.path !== undefined) return textOf(socket)
  // The error that `new URL` throws holds the text.
  return url === undefined || !URL.canParse(url) ? textOf(socket ?? {}) : new URL(url).host
}

function textOf({ host = 'localhost', port = 6379, path }: Address): string {
  return path === undefined ? `${host}:${port}` : String(path)
}
