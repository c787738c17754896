// All that Weir knows of ioredis's inside: how a command goes through it, where its connections
// write, and how they are. ioredis 5 and 6 are alike in this.

import { memoized } from '../../base/cache.js'
import type { Time } from '../../base/time.js'
import { withDeadline } from '../../layers/resilience/deadlines.js'
import type { Connection, RedisLike, Send } from './redis-like.js'
import { databaseOf } from './ioredis/database.js'

interface Stream {
  readonly bytesRead?: number
  cork?(): void
  uncork?(): void
  destroy?(error: Error): void
}

/** How much had come on a connection when it was looked at. */
interface Heard {
  stream: Stream | undefined
  bytes: number | undefined
  /** When this number was first seen. */
  sinceMs: number
  lookAgainMs: number
}

/** A connection: the client itself, or that of a node of a Cluster. */
interface NodeConnection {
  readonly status?: string
  readonly stream?: Stream | undefined
  sendCommand?(command: unknown): unknown
}

/** Of a Cluster: its connections, by the names that `slots` has. */
interface Pool {
  readonly connectionPool?: { getInstanceByKey?(node: string): NodeConnection | undefined }
}

/** What a node says of a call that is none of its own, or not now. Nothing has run. */
const REDIRECTION = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/

/** Whether a command would be sent, and not queued. */
function isReady({ status }: RedisLike): boolean {
  return status === undefined || status === 'ready'
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

/**
 * A connection on which nothing has come for so long, though something was asked, is given up: to a
 * host that drops packets it would last for many minutes. ioredis's `socketTimeout` does the
 * same with a timer and a listener for each write, which costs a lone call a tenth of its time.
 */
export const SILENCE_MS = 1_000

type Builtin = NonNullable<RedisLike['createBuiltinCommand']>

export interface ConnectionOptions {
  /** How long the first connection is waited for, from the first request on. */
  readonly deadlineMs: number
  /** After which silence a connection is given up. */
  readonly silenceMs: number
  readonly time: Time
}

/**
 * The first connection is waited for: without that, each start of an app would begin with decisions
 * that Redis knows nothing of.
 */
export function connectionOf(client: RedisLike, options: ConnectionOptions): Connection {
  const { deadlineMs, silenceMs, time } = options
  let waiting: Promise<void> | undefined
  let close = (): void => {}
  const closed = new Promise<void>((resolve) => {
    close = resolve
  })

  function connectLazily(): void {
    if (client.status === 'wait') client.connect?.().catch(() => {})
  }

  function connecting(): Promise<void> | undefined {
    const { status } = client
    connectLazily()
    connection.isStarted ||= !STARTING.includes(status as string)
    if (connection.isStarted) return undefined
    if (waiting === undefined) {
      const attempt = Promise.race([attemptOf(client), closed])
      waiting = withDeadline(attempt, deadlineMs, time, 'Redis').then(end, end)
      waiting.catch(() => {})
    }
    return waiting
  }

  function end(): void {
    connection.isStarted = true
    if (!isReady(client)) throw new Error(`the client is ${client.status}`)
  }

  const commands: Record<string, (...args: unknown[]) => Promise<unknown>> = {}

  /**
   * Sends a command on a line. Not by way of ioredis's auto pipelining: that loses the command of
   * `callBuffer` and throws where nobody can catch it, and Weir's calls are batches already.
   */
  function builtIn(line: object, command: string, args: string[]): Promise<unknown> {
    commands[command] ??= (client.createBuiltinCommand as Builtin)(command).buffer
    return commands[command].call(line, args)
  }

  const hasEvents = typeof client.on === 'function' && typeof client.off === 'function'
  const isCluster = client.isCluster === true
  const send: Send = pipelines(client)
    ? (command, args) => builtIn(client, command, args)
    : (command, args) => client.callBuffer(command, args)

  /** Past the Cluster, which would write each call by itself. */
  const directly = memoized((to: NodeConnection): Send => {
    // The Cluster's options: a keyPrefix is not known to its nodes.
    const line = { options: client.options, sendCommand: (made: unknown) => to.sendCommand?.(made) }
    return (command, args) =>
      builtIn(line, command, args).then(undefined, (error: Error) => {
        if (REDIRECTION.test(error.message)) return send(command, args)
        throw error
      })
  })

  function connectionTo(node: string): NodeConnection | undefined {
    if (!isCluster) return client as NodeConnection
    if (client.createBuiltinCommand === undefined) return undefined
    return (client as Pool).connectionPool?.getInstanceByKey?.(node)
  }

  const heardOn = memoized((_: NodeConnection): Heard => {
    return { stream: undefined, bytes: 0, sinceMs: 0, lookAgainMs: Number.NEGATIVE_INFINITY }
  })

  /**
   * Looks at a connection on which something was asked, or is just now: by Weir, or by the client
   * itself where it is new. If nothing has come since it was looked at before, it is given up.
   */
  function watch(to: NodeConnection): void {
    const nowMs = time.nowMs()
    const heard = heardOn(to)
    if (nowMs < heard.lookAgainMs) return
    heard.lookAgainMs = nowMs + silenceMs / 2
    const isSilent = (): boolean =>
      to.stream === heard.stream && to.stream?.bytesRead === heard.bytes
    if (!isSilent()) {
      heard.stream = to.stream
      heard.bytes = to.stream?.bytesRead
      heard.sinceMs = nowMs
      return
    }
    if (nowMs - heard.sinceMs < silenceMs) return
    // An event loop that was held up is no silence: what is there already is read first.
    const giveUp = (): void => {
      const why = `Weir closed this connection: nothing has come for ${silenceMs} ms`
      if (isSilent()) to.stream?.destroy?.(new Error(why))
    }
    time.soon(() => time.soon(giveUp))
  }

  const database = databaseOf(client, send)
  const { keyPrefix } = (client.options ?? {}) as { readonly keyPrefix?: string | null }
  const connection: Connection & { isStarted: boolean } = {
    isCluster,
    isStarted: !hasEvents,
    keyPrefix: keyPrefix ?? '',
    get database() {
      return database.number
    },
    nodeOf: (slot) => client.slots?.[slot]?.[0],
    call(command, args) {
      if (client.status === 'ready') watch(client as NodeConnection)
      const selection = database.selecting()
      if (selection === undefined) return send(command, args)
      return selection.then(() => connection.call(command, args))
    },
    inOneWrite(node, items, ask) {
      const to = connectionTo(node)
      const isReady = to?.status === 'ready'
      if (isReady || to?.status === 'connect') watch(to)
      const selection = database.selecting()
      if (selection !== undefined) {
        const askInVain = (): void => {
          for (const item of items) ask(item, () => selection)
        }
        selection.then(() => connection.inOneWrite(node, items, ask), askInVain)
        return
      }
      const stream = isReady && items.length > 1 ? to.stream : undefined
      const way = isReady && isCluster ? directly(to) : send
      stream?.cork?.()
      try {
        for (let i = 0; i < items.length; i += 1) ask(items[i] as (typeof items)[number], way)
      } finally {
        stream?.uncork?.()
      }
    },
    connecting,
    attempt() {
      connectLazily()
      if (client.status === 'connect') watch(client as NodeConnection)
      return hasEvents && STARTING.includes(client.status as string) ? attemptOf(client) : undefined
    },
    close,
    unready() {
      if (connecting() !== undefined || isReady(client)) return undefined
      if (client.status === 'connect') watch(client as NodeConnection)
      return `the client is ${client.status}`
    },
  }
  return connection
}
