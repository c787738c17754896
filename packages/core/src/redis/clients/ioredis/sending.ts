// How a command goes through an ioredis client, and past a Cluster to one of its nodes. ioredis 5
// and 6 are alike in this.

import { memoized } from '../../../base/cache.js'
import type { Send } from '../../connection.js'
import type { RedisLike } from './redis-like.js'

export interface Stream {
  readonly bytesRead?: number
  cork?(): void
  uncork?(): void
  destroy?(error: Error): void
}

/** A connection: the client itself, or that of a node of a Cluster. */
export interface NodeConnection {
  readonly status?: string
  readonly stream?: Stream | undefined
  sendCommand?(command: unknown): unknown
}

/** A command of ioredis. */
interface Command {
  args: readonly string[]
}

/** How a node answers a call that it does not serve, or not now. Nothing has run. */
const REDIRECTION = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/

/** Whether the client gathers commands in pipelines by itself. */
export function pipelines({ options }: RedisLike): boolean {
  // As ioredis reads it: a text from the environment is no boolean.
  return Boolean((options as { enableAutoPipelining?: unknown } | undefined)?.enableAutoPipelining)
}

export interface Sending {
  /** Through the client. */
  readonly send: Send
  /** Directly to a node of a Cluster whose connection is made or being made: the Cluster would
   *  write each command by itself. A command that the node redirects goes through the client. */
  readonly directly: (to: NodeConnection) => Send
}

export function sendingBy(client: RedisLike & NodeConnection): Sending {
  const { options = {} } = client
  const { keyPrefix } = options as { readonly keyPrefix?: unknown }
  const commands: Record<string, (...args: unknown[]) => Promise<unknown>> = {}

  /**
   * Sends commands to a connection, past ioredis's auto pipelining, which loses the command of
   * `callBuffer` and throws where nobody can catch it. Weir's calls are batches already. The
   * command gets its arguments once it is made: ioredis copies those that it is made with, in a way
   * that takes longer than all else that it does with a command.
   */
  function straightTo(to: NodeConnection): Send {
    let given: string[] = []
    const line = {
      // The Cluster's options, as its nodes do not know the keyPrefix.
      options,
      sendCommand(made: Command): unknown {
        if (!keyPrefix) made.args = given
        return to.sendCommand?.(made)
      },
    }
    return (command, args) => {
      commands[command] ??= client.createBuiltinCommand?.(command).buffer as () => Promise<unknown>
      given = args
      // ioredis puts the keyPrefix before the keys that a command is made with.
      return commands[command].apply(line, keyPrefix ? [args] : [])
    }
  }

  const straight = straightTo(client)
  const isIoredis = client.createBuiltinCommand !== undefined && client.sendCommand !== undefined
  // Whoever has put another function in its place wants to see the commands.
  const { callBuffer } = Object.getPrototypeOf(client) as RedisLike
  const send: Send = (command, args) =>
    isIoredis && (client.callBuffer === callBuffer || pipelines(client))
      ? straight(command, args)
      : client.callBuffer(command, args)

  const directly = memoized((to: NodeConnection): Send => {
    const sendTo = straightTo(to)
    return (command, args) =>
      sendTo(command, args).then(undefined, (error: Error) => {
        if (REDIRECTION.test(error.message)) return send(command, args)
        throw error
      })
  })

  return { send, directly }
}
