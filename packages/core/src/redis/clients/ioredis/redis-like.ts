// The shape of ioredis that its adapter uses. A client of another library gets an adapter of its
// own beside ioredis.ts, which makes a Connection (redis/connection.ts).

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
