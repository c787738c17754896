// What Weir needs of a Redis client, and what the transport makes of it: the one contract behind
// which clients differ.

/**
 * What Weir needs of a Redis client: ioredis 5 and 6 have it, `Redis` (with or without Sentinel)
 * and `Cluster`. Another client can be wrapped into it; each call is then a write of its own, and a
 * connection that has fallen silent is for the client to give up.
 */
export interface RedisLike {
  /** Sends a command as it is and resolves to the reply, a bulk string as a Buffer. */
  callBuffer(command: string, args: string[]): Promise<unknown>
  /** The client's options, which are checked for what would break a limit. */
  readonly options?: object
  /** `'ready'` when commands can be sent; a client without it is taken to be ready. */
  readonly status?: string
  /** Called once if the status is `'wait'`, as a lazy client's is. */
  connect?(): Promise<unknown>
  /** For `'ready'`, `'close'` and `'end'`: without it and `off`, the first connection is not
   *  waited for. */
  on?(event: string, listener: () => void): unknown
  /** Ends what `on` began. */
  off?(event: string, listener: () => void): unknown
  /** True of a Cluster. */
  readonly isCluster?: boolean
  /** Of a Cluster: the nodes of each slot, the master first. */
  readonly slots?: readonly (readonly string[] | undefined)[]
  /** Of ioredis: a command that its auto pipelining leaves alone, and that can be sent to a node of
   *  a Cluster directly. Required if `options.enableAutoPipelining` is true. */
  createBuiltinCommand?(command: string): { buffer(...args: unknown[]): Promise<unknown> }
}

/** Sends a command as it is, and resolves to the reply, a bulk string as a Buffer. */
export type Send = (command: string, args: string[]) => Promise<unknown>

/** A client, as the transport sees it. */
export interface Connection {
  readonly isCluster: boolean
  /** What the client puts before each key. */
  readonly keyPrefix: string
  /** The number of the client's database. */
  readonly database: number
  /** Of a Cluster: the node that serves a slot, as far as the client knows. */
  nodeOf(slot: number): string | undefined
  /** Sends one call through the client, which finds the node. */
  readonly call: Send
  /**
   * What `ask` sends to a node for all of these leaves in one write, where the client can do that.
   * A call that the node refers to another one goes through the client.
   */
  inOneWrite<Item>(
    node: string,
    items: readonly Item[],
    ask: (item: Item, send: Send) => void,
  ): void
  /** Why a command would not be sent now, and not even wait to be; undefined: it would. Asked
   *  before each request. */
  unready(): string | undefined
  /** The first connection is made, or was given up. `connecting` finds out. */
  readonly isStarted: boolean
  /**
   * While the client makes its first connection: resolves when it can send, rejects when the
   * attempt has failed or was given up. The first time begins the wait, and lets a lazy client
   * connect.
   */
  connecting(): Promise<void> | undefined
  /**
   * While the client makes any connection, however long that takes: resolves when the attempt has
   * succeeded or failed. Lets a lazy client connect.
   */
  attempt(): Promise<void> | undefined
  /** Ends both waits. */
  close(): void
}
