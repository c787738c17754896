// What Weir needs of a Redis client, and all that it knows of ioredis's inside: how a command goes
// through it, and how its connection is.

import type { Time } from '../../base/time.js'
import { withDeadline } from '../../layers/resilience/failures.js'

/**
 * What Weir needs of a Redis client: ioredis 5 and 6 have it, `Redis` (with or without Sentinel)
 * and `Cluster`. Another client can be wrapped into it.
 */
export interface RedisLike {
  /** Sends a command as it is and resolves to the reply, a bulk string as a Buffer. */
  callBuffer(command: string, args: string[]): Promise<unknown>
  readonly options?: object
  /** `'ready'` when commands can be sent; a client without it is taken to be ready. */
  readonly status?: string
  /** Called once if the status is `'wait'`, as a lazy client's is. */
  connect?(): Promise<unknown>
  /** For `'ready'`, `'close'` and `'end'`: without it and `off`, the first connection is not
   *  waited for. */
  on?(event: string, listener: () => void): unknown
  off?(event: string, listener: () => void): unknown
  readonly isCluster?: boolean
  /** Of a Cluster: the nodes of each slot, the master first. */
  readonly slots?: readonly (readonly string[] | undefined)[]
  /** Of ioredis: a command that its auto pipelining leaves alone. Required if
   *  `options.enableAutoPipelining` is true. */
  createBuiltinCommand?(command: string): { buffer(...args: unknown[]): Promise<unknown> }
}

/** Whether a command would be sent, and not queued. */
export function isReady({ status }: RedisLike): boolean {
  return status === undefined || status === 'ready'
}

/**
 * Sends a command as it is, and resolves to the reply, a bulk string as a Buffer. Not by way of
 * ioredis's auto pipelining: that loses the command of `callBuffer` and throws where nobody can
 * catch it, and Weir's calls are batches already.
 */
export function send(client: RedisLike, command: string, args: string[]): Promise<unknown> {
  if (!pipelines(client)) return client.callBuffer(command, args)
  return client.createBuiltinCommand?.(command).buffer.call(client, args) as Promise<unknown>
}

/** Whether the client gathers commands in pipelines by itself. */
export function pipelines({ options }: RedisLike): boolean {
  // As ioredis reads it: a text from the environment is no boolean.
  return Boolean((options as { enableAutoPipelining?: unknown } | undefined)?.enableAutoPipelining)
}

/** Statuses of a client that has not failed to connect yet. */
const STARTING = ['wait', 'connecting', 'connect']
/** Events of a client at which an attempt has come to its end. */
const ENDS = ['ready', 'close', 'end']

/**
 * By client, the end of its first attempt: all stores on a client wait for one, and it has the
 * listeners of one.
 */
const attempts: WeakMap<RedisLike, Promise<void>> = new WeakMap()

function attemptOf(client: RedisLike): Promise<void> {
  const attempt =
    attempts.get(client) ??
    new Promise<void>((resolve) => {
      const end = (): void => {
        for (const event of ENDS) client.off?.(event, end)
        attempts.delete(client)
        resolve()
      }
      for (const event of ENDS) client.on?.(event, end)
    })
  attempts.set(client, attempt)
  return attempt
}

/** How a client's connection is. */
export interface Connection {
  /** Why a command would not be sent now, and not even wait to be; undefined: it would. */
  unready(): string | undefined
  /**
   * While the client makes its first connection: resolves when it can send, rejects when the
   * attempt has failed or was given up. The first time begins the wait, and lets a lazy client
   * connect.
   */
  connecting(): Promise<void> | undefined
  /** Ends the wait. */
  close(): void
}

/**
 * The first connection is waited for: without that, each start of an app would begin with decisions
 * that Redis knows nothing of.
 * @param deadlineMs how long to wait, from the first request on
 */
export function connectionOf(client: RedisLike, deadlineMs: number, time: Time): Connection {
  let waiting: Promise<void> | undefined
  let isOver = typeof client.on !== 'function' || typeof client.off !== 'function'
  let close = (): void => {}
  const closed = new Promise<void>((resolve) => {
    close = resolve
  })

  function connecting(): Promise<void> | undefined {
    const { status } = client
    if (status === 'wait') client.connect?.().catch(() => {})
    isOver ||= !STARTING.includes(status as string)
    if (isOver) return undefined
    if (waiting === undefined) {
      const attempt = Promise.race([attemptOf(client), closed])
      waiting = withDeadline(attempt, deadlineMs, time).then(end, end)
      waiting.catch(() => {})
    }
    return waiting
  }

  function end(): void {
    isOver = true
    if (!isReady(client)) throw new Error(`the client is ${client.status}`)
  }

  return {
    connecting,
    close,
    unready() {
      if (connecting() !== undefined || isReady(client)) return undefined
      return `the client is ${client.status}`
    },
  }
}
