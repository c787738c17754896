// The database of a client, selected before the first call of each connection. ioredis selects it
// itself, but where Redis refuses that, it goes on in database 0, where nothing is counted that
// other clients have counted.

import type { Send } from '../../connection.js'
import type { RedisLike } from './redis-like.js'

/** What is read of ioredis's `Redis`. Others have no `stream`, and select what they need. */
interface Selecting {
  readonly options?: { readonly db?: number }
  /** How its connection is, as far as it knows. */
  readonly condition?: { readonly select?: number } | null
  /** The connection. */
  readonly stream?: object
}

interface Selection {
  readonly reply: Promise<unknown>
  isDone: boolean
}

/** By connection: all stores on a client wait for one selection. */
const selections: WeakMap<object, Selection> = new WeakMap()

/** The number of a client's database, 0 of a Cluster, which has no other. The application may have
 *  selected another one since the client was made. */
export function databaseNumber(client: RedisLike): number {
  if (client.isCluster === true) return 0
  const { condition, options } = client as Selecting
  return (condition?.select ?? options?.db) || 0
}

/**
 * What is to be asked before each call. Undefined: the client's database is selected. Else the call
 * waits for the promise, and fails if that does.
 */
export function selectionOf(client: RedisLike, send: Send): () => Promise<unknown> | undefined {
  let selectedOn: object | undefined

  function select(stream: object, number: number): Selection {
    const reply = new Promise<unknown>((resolve) => {
      resolve(send('select', [String(number)]))
    })
    const selection = { reply, isDone: false }
    selections.set(stream, selection)
    const done = (): void => {
      selection.isDone = true
    }
    // What Redis refuses now it may permit later.
    const again = (): void => void selections.delete(stream)
    // Called before what waits for the reply, so that calls keep their order.
    reply.then(done, again)
    return selection
  }

  return () => {
    const { stream } = client as Selecting
    if (stream === selectedOn || stream === undefined) return undefined
    const number = databaseNumber(client)
    if (number !== 0) {
      const selection = selections.get(stream) ?? select(stream, number)
      if (!selection.isDone) return selection.reply
    }
    selectedOn = stream
    return undefined
  }
}
