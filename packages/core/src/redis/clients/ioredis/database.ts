// Selects a client's database before the first call of each connection. ioredis selects it by
// itself, but if Redis refuses, it goes on in database 0, which lacks what other clients have
// counted.

import type { Send } from '../../connection.js'
import type { RedisLike } from './redis-like.js'

/** What Weir reads of ioredis's `Redis`. Other clients have no `stream`, and select their database
 *  by themselves. */
interface Selecting {
  readonly options?: { readonly db?: number }
  /** The connection's state, as far as the client knows. */
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

/** The number of a client's database; 0 for a Cluster, which has no other. The application may have
 *  selected another one since the client was made. */
export function databaseNumber(client: RedisLike): number {
  if (client.isCluster === true) return 0
  const { condition, options } = client as Selecting
  return (condition?.select ?? options?.db) || 0
}

/**
 * Returns a function to call before each command. If it returns undefined, the client's database is
 * selected. Otherwise, the command waits for the promise, and fails if the promise does.
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
    // Called before those who wait for the reply, so that calls keep their order.
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
