// What the adapter uses of ioredis. A client of another library gets its own adapter beside
// ioredis.ts, which makes a Connection (redis/connection.ts).

/**
 * What Weir needs of a Redis client. `Redis` (with or without Sentinel) and `Cluster` of ioredis 5
 * and 6 have it. Another client can be wrapped to have it; each call is then a separate write, and
 * the client itself must give up a connection that has fallen silent.
 */
export interface RedisLike {
  /** Sends a command unchanged and resolves to the reply, with bulk strings as Buffers. */
  callBuffer(command: string, args: string[]): Promise<unknown>
  /** The client's options, which are checked for what would break a limit. */
  readonly options?: object
  /** `'ready'` when commands can be sent; a client without it is taken to be ready. */
  readonly status?: string
  /** Called once if the status is `'wait'`, as a lazy client's is. */
  connect?(): Promise<unknown>
  /** Listens to `'ready'`, `'close'` and `'end'`. Without `on` and `off`, Weir does not wait for
   *  the first connection. */
  on?(event: string, listener: () => void): unknown
  /** Removes a listener. */
  off?(event: string, listener: () => void): unknown
  /** True of a Cluster. */
  readonly isCluster?: boolean
  /** Of a Cluster: the nodes of each slot, the master first. */
  readonly slots?: readonly (readonly string[] | undefined)[]
  /** ioredis's own: makes a command that auto pipelining leaves alone, and that can be sent
   *  directly to a node of a Cluster. Required if `options.enableAutoPipelining` is true. */
  createBuiltinCommand?(command: string): { buffer(...args: unknown[]): Promise<unknown> }
}
