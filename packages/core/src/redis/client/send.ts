// How one command goes through a client.

import type { RedisLike } from './client.js'

/**
 * Sends a command as it is, and resolves to the reply, a bulk string as a Buffer. Not by way of
 * ioredis's auto pipelining: that loses the command of `callBuffer` and throws where nobody can
 * catch it, and Weir's calls are batches already.
 */
export function send(client: RedisLike, command: string, args: string[]): Promise<unknown> {
  if (!pipelines(client)) return client.callBuffer(command, args)
  const { buffer } = (
    client.createBuiltinCommand as NonNullable<RedisLike['createBuiltinCommand']>
  )(command)
  return buffer.call(client, args)
}

/** Whether the client gathers commands in pipelines by itself. */
export function pipelines({ options }: RedisLike): boolean {
  // As ioredis reads it: a text from the environment is no boolean.
  return Boolean((options as { enableAutoPipelining?: unknown } | undefined)?.enableAutoPipelining)
}
