// The entry @weir/core/node-redis: clients of node-redis, version 5 or 6, of their four kinds.
//
// node-redis itself writes all commands of a turn of the event loop at once. Its command timeout
// (5 s by default) would cost a timer for each command, so it is switched off. `sendCommand` does
// not apply the client's `keyPrefix`, so the adapter does.

import { memoized } from '../../base/cache.js'
import type { AdaptedClient, Adapter, ConnectionOptions } from '../client.js'
import type { Connection, Send } from '../connection.js'
import { attemptOf } from './attempt.js'
import {
  type ClusterClient,
  checkedClient,
  isSilenced,
  type Kind,
  type NodeRedisLike,
  type PoolClient,
  type SentinelClient,
  type SingleClient,
} from './node-redis/client.js'
import { placeOfClient, prefixOf } from './node-redis/place.js'
import { watchOf } from './node-redis/watch.js'

export type { AdaptedClient } from '../client.js'
export type { NodeRedisLike } from './node-redis/client.js'
export * from './node-redis/recommended.js'

/**
 * A client of node-redis, version 5 or 6, for `redisStore`. You connect and close it yourself. Weir
 * listens to its `error` event, so that an outage does not end the process.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION: it is none of these clients, or subscribes
 * with RESP2, so that it can send no commands
 * @example
 * const client = createClient({ url: 'redis://localhost:6379', ...recommendedNodeRedisOptions })
 * await client.connect()
 * const store = redisStore(fromNodeRedis(client))
 */
export function fromNodeRedis(client: NodeRedisLike): AdaptedClient {
  const kind = checkedClient(client)
  listening(client)
  const adapter: Adapter = {
    library: 'node-redis',
    connectionWith: (options) => CONNECTIONS[kind](client as never, options),
  }
  return adapter
}

/** An error that nobody listens to ends the process. */
const listening = memoized((client: NodeRedisLike) => client.on('error', () => {}))

/** How often a client has connected. */
const connections = memoized((client: NodeRedisLike) => {
  const times = { count: 0 }
  client.on('ready', () => {
    times.count += 1
  })
  return times
})

const CONNECTIONS: Readonly<
  Record<Kind, (client: never, options: ConnectionOptions) => Connection>
> = {
  client: singleConnection,
  cluster: clusterConnection,
  sentinel: sentinelConnection,
  pool: poolConnection,
}

/** Bulk strings as Buffers ('$' in RESP); no timer for each command. */
const OPTIONS = { typeMapping: { 36: Buffer }, timeout: undefined }
type Options = typeof OPTIONS

/** A way to send a whole command. */
type SendAll = (args: string[], how: Options) => Promise<unknown>

/** Makes a `Send` that puts the prefix before keys. Weir sends scripts only: a source, a number of
 *  keys, and the keys. */
function sendingBy(send: SendAll, prefix: string): Send {
  if (prefix === '') return (command, args) => send([command, ...args], OPTIONS)
  return (command, args) => {
    const all = [command, ...args]
    const end = 3 + Number(args[1])
    for (let i = 3; i < end; i += 1) all[i] = prefix + all[i]
    return send(all, OPTIONS)
  }
}

/** Refuses a command that cannot be sent now; the client might queue it, to be counted later. */
function sendingTo(client: SingleClient, prefix: string, { deadlineMs }: ConnectionOptions): Send {
  const watch = watchOf(client)
  watch.mayTake(deadlineMs)
  const send = sendingBy((args, how) => client.sendCommand(args, how), prefix)
  return (command, args) => {
    const why = unreadyOf(client)
    return why === undefined ? watch.reply(send(command, args)) : Promise.reject(new Error(why))
  }
}

function singleConnection(client: SingleClient, options: ConnectionOptions): Connection {
  const call = sendingTo(client, prefixOf(client), options)
  return {
    ...ofOneNode(client, call),
    database: client.options?.database ?? 0,
  }
}

function clusterConnection(client: ClusterClient, options: ConnectionOptions): Connection {
  const prefix = prefixOf(client)
  const call = sendingBy((args, how) => client.sendCommand(args[3], false, args, how), prefix)

  /** Past the Cluster, which finds the node of each command anew. */
  const directly = memoized((node: SingleClient): Send => {
    const send = sendingTo(node, prefix, options)
    return (command, args) =>
      send(command, args).then(undefined, (error: Error) => {
        if (REDIRECTION.test(error.message)) return call(command, args)
        throw error
      })
  })

  return {
    ...ofOneNode(client, call, ENDS_OF_CLUSTER),
    isCluster: true,
    nodeOf: (slot) => client.slots[slot]?.master?.address,
    lineTo(node) {
      const to = client.nodeByAddress.get(node)?.client
      return to && connections(to).count
    },
    inOneWrite(node, items, ask) {
      const to = client.nodeByAddress.get(node)?.client
      const send = to === undefined ? call : directly(to)
      for (const item of items) ask(item, send)
    },
  }
}

/** How a node answers a call that it does not serve, or not now. Nothing has run. */
const REDIRECTION = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/

/** The client finds the master. */
function sentinelConnection(client: SentinelClient, options: ConnectionOptions): Connection {
  const send: SendAll = (args, how) => client.sendCommand(false, args, inTime(how, options))
  const database = client.options?.nodeClientOptions?.database ?? 0
  return { ...ofOneNode(client, sendingBy(send, prefixOf(client))), database }
}

/** Calls that are under way at once may overtake each other. */
function poolConnection(client: PoolClient, options: ConnectionOptions): Connection {
  const send: SendAll = (args, how) => client.sendCommand(args, inTime(how, options))
  return ofOneNode(client, sendingBy(send, prefixOf(client)))
}

/** Once they have a connection again, these clients send a command late, or a second time. By then
 *  its requests have been decided without Redis, and would be counted twice. */
function inTime(how: Options, { deadlineMs }: ConnectionOptions): object {
  return { ...how, abortSignal: AbortSignal.timeout(Math.ceil(deadlineMs)) }
}

/** @param ends events that end an attempt to connect */
function ofOneNode(client: NodeRedisLike, call: Send, ends: readonly string[] = ENDS): Connection {
  return {
    place: placeOfClient(client),
    isCluster: false,
    keyPrefix: prefixOf(client),
    database: 0,
    nodeOf: () => undefined,
    call,
    inOneWrite(_, items, ask) {
      for (const item of items) ask(item, call)
    },
    lineTo: () => connections(client).count,
    unready: () => unreadyOf(client),
    attempt: () => (isStarting(client) ? attemptOf(client, ends) : undefined),
  }
}

const ENDS = ['ready', 'error', 'end']
const ENDS_OF_CLUSTER = ['connect', 'error', 'end']

/** A pool does not say whether it is ready, and before version 6 a Cluster may not either. */
function isReady(client: NodeRedisLike): boolean {
  const { masters } = client as { masters?: readonly unknown[] }
  return client.isOpen && client.isReady !== false && masters?.length !== 0
}

function isStarting(client: NodeRedisLike): boolean {
  return client.isOpen && !isReady(client)
}

function unreadyOf(client: NodeRedisLike): string | undefined {
  if (isSilenced(client)) return 'the client subscribes with RESP2, and can send no commands'
  if (isReady(client)) return undefined
  return client.isOpen ? 'the client is connecting' : 'the client is not connected: call connect()'
}
