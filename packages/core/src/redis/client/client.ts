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
