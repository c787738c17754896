// The connection of a client whose bulk replies are text.

import { memoized } from '../../base/cache.js'
import { invalid } from '../../base/errors.js'
import type { Connection } from '../connection.js'

/**
 * A client whose bulk replies are text, such as Bun's, or one over HTTP. Each call is a separate
 * write. The client itself must connect, and give up a connection that has fallen silent.
 * @example
 * const client = new Bun.RedisClient('redis://localhost:6379', { enableOfflineQueue: false })
 * const store = redisStore({
 *   callText: (command, args) => client.send(command, args),
 *   isReady: () => client.connected,
 * })
 */
export interface TextClient {
  /** Sends a command unchanged and resolves to the reply, or rejects with the server's error. */
  callText(command: string, args: string[]): Promise<unknown>
  /** Whether a command would be sent now, and not kept to be sent later. Default: it always is. */
  isReady?(): boolean
}

export function isTextClient(client: unknown): client is TextClient {
  return typeof (client as Partial<TextClient> | undefined)?.callText === 'function'
}

let strangers = 0
/** Such clients do not say where they connect, so each gets a different name. */
const strangerOf = memoized((_: TextClient) => {
  strangers += 1
  return `text #${strangers}`
})

/** @throws {TypeError} WEIR_INVALID_OPTION */
export function textConnection(client: TextClient): Connection {
  const { isReady } = client
  if (isReady !== undefined && typeof isReady !== 'function')
    throw invalid('WEIR_INVALID_OPTION', 'isReady', isReady, 'a function that returns a boolean')
  const call: Connection['call'] = (command, args) => client.callText(command, args)
  return {
    place: [strangerOf(client)],
    isCluster: false,
    keyPrefix: '',
    database: 0,
    repliesInText: true,
    nodeOf: () => undefined,
    call,
    inOneWrite(_, items, ask) {
      for (const item of items) ask(item, call)
    },
    unready: () => (isReadyNow(client) ? undefined : 'the client is not ready'),
    attempt: () => undefined,
  }
}

/** A user's client: one whose `isReady` throws, or returns a promise, is not ready. */
function isReadyNow(client: TextClient): boolean {
  if (client.isReady === undefined) return true
  try {
    return client.isReady() === true
  } catch {
    return false
  }
}
