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

type Builtin = NonNullable<RedisLike['createBuiltinCommand']>

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

export function sendingBy(client: RedisLike): Sending {
  const commands: Record<string, (...args: unknown[]) => Promise<unknown>> = {}

  /**
   * Sends a command on a line, past ioredis's auto pipelining, which loses the command of
   * `callBuffer` and throws where nobody can catch it. Weir's calls are batches already.
   */
  function builtIn(line: object, command: string, args: string[]): Promise<unknown> {
    commands[command] ??= (client.createBuiltinCommand as Builtin)(command).buffer
    return commands[command].call(line, args)
  }

  const send: Send = pipelines(client)
    ? (command, args) => builtIn(client, command, args)
    : (command, args) => client.callBuffer(command, args)

  const directly = memoized((to: NodeConnection): Send => {
    // The Cluster's options, as its nodes do not know the keyPrefix.
    const line = { options: client.options, sendCommand: (made: unknown) => to.sendCommand?.(made) }
    return (command, args) =>
      builtIn(line, command, args).then(undefined, (error: Error) => {
        if (REDIRECTION.test(error.message)) return send(command, args)
        throw error
      })
  })

  return { send, directly }
}
