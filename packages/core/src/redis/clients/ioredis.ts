// The connection of an ioredis client, version 5 or 6, or of another client that has its
// `callBuffer`. Each client of another library has a file beside this one, which makes a Connection
// (../connection.ts).

import type { ConnectionOptions } from '../client.js'
import type { Connection } from '../connection.js'
import { attemptOf, type Emitter } from './attempt.js'
import { databaseNumber, selectionOf } from './ioredis/database.js'
import { placeOfClient } from './ioredis/place.js'
import type { RedisLike } from './ioredis/redis-like.js'
import { type NodeConnection, sendingBy } from './ioredis/sending.js'
import { silenceWatch } from './ioredis/silence.js'

/** Of a Cluster: its connections, by the names that `slots` has. */
interface Pool {
  readonly connectionPool?: {
    getInstanceByKey?(node: string): NodeConnection | undefined
    getNodes?(): readonly NodeConnection[]
  }
}

/**
 * Whether a connection sends commands now, or once it is made. A Cluster refuses commands to a node
 * whose connection is being made: it waits, asks for the slots again and tries any node, even one
 * that does not answer.
 */
function hasBegun({ status }: NodeConnection): boolean {
  return status === 'ready' || status === 'connecting' || status === 'connect'
}

/** Statuses of a client that is about to connect, or is connecting: for the first time or again. */
const STARTING = ['wait', 'connecting', 'connect']
/** Events that end an attempt to connect. */
const ENDS = ['ready', 'close', 'end']

export function ioredisConnection(
  client: RedisLike,
  { deadlineMs, time }: ConnectionOptions,
): Connection {
  const isCluster = client.isCluster === true
  const { keyPrefix } = (client.options ?? {}) as { readonly keyPrefix?: string | null }
  const { send, directly } = sendingBy(client)
  const watch = silenceWatch(deadlineMs, time)
  const selecting = selectionOf(client, send)

  function connectionTo(node: string): NodeConnection | undefined {
    if (!isCluster) return client as NodeConnection
    if (client.createBuiltinCommand === undefined) return undefined
    return (client as Pool).connectionPool?.getInstanceByKey?.(node)
  }

  /** Lets a lazy client connect, and watches the handshake. A Cluster asks one of its nodes whether
   *  all is well, and would wait for as long as that node is silent. */
  function begin(): void {
    if (client.status === 'wait') client.connect?.().catch(() => {})
    if (client.status !== 'connect') return
    const nodes = (client as Pool).connectionPool?.getNodes?.() ?? [client as NodeConnection]
    for (const to of nodes) if (to.status === 'connect') watch(to)
  }

  const connection: Connection = {
    place: placeOfClient(client),
    isCluster,
    keyPrefix: keyPrefix ?? '',
    get database() {
      return databaseNumber(client)
    },
    nodeOf: (slot) => client.slots?.[slot]?.[0],
    call(command, args) {
      if (client.status === 'ready') watch(client as NodeConnection)
      const selection = selecting()
      if (selection === undefined) return send(command, args)
      return selection.then(() => connection.call(command, args))
    },
    inOneWrite(node, items, ask) {
      const to = connectionTo(node)
      const isReady = to?.status === 'ready'
      if (isReady || to?.status === 'connect') watch(to)
      const selection = selecting()
      if (selection !== undefined) {
        const askInVain = (): void => {
          for (const item of items) ask(item, () => selection)
        }
        selection.then(() => connection.inOneWrite(node, items, ask), askInVain)
        return
      }
      const stream = isReady && items.length > 1 ? to.stream : undefined
      const direct = isCluster && to !== undefined ? directly(to) : send
      stream?.cork?.()
      try {
        for (let i = 0; i < items.length; i += 1) {
          // The first command may let the connection begin.
          const way = to !== undefined && hasBegun(to) ? direct : send
          ask(items[i] as (typeof items)[number], way)
        }
      } finally {
        stream?.uncork?.()
      }
    },
    lineTo: (node) => connectionTo(node)?.stream,
    unready() {
      const { status } = client
      if (status === undefined || status === 'ready') return undefined
      begin()
      return `the client is ${client.status}`
    },
    attempt() {
      begin()
      const { on, off, status = '' } = client
      // Without events, the client does not say when an attempt ends.
      if (on === undefined || off === undefined || !STARTING.includes(status)) return undefined
      return attemptOf(client as Emitter, ENDS)
    },
  }
  return connection
}
