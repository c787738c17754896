// What the planning simulation knows of a machine: CPU times of both sides, and how long a
// message takes. measure.ts measures them.

/** CPU of a server's main thread, in microseconds. */
export interface ServerCosts {
  /** To wake up, when it has slept; and what that takes more after a rest of a millisecond, when
   *  the caches hold something else. */
  readonly wakeUs: number
  readonly restedUs: number
  /** To read what has come on a connection, and to write the replies. */
  readonly readUs: number
  /** Of each call, and of each key in it; and what a key takes besides that is written. */
  readonly callUs: number
  readonly keyUs: number
  readonly changeUs: number
}

/** CPU of a process, Weir and its client together, in microseconds. */
export interface ClientCosts {
  /** Of a write, and of reading its replies. */
  readonly writeUs: number
  readonly callUs: number
  readonly keyUs: number
  /** Of each decision, whether it shares a key in a call or not. */
  readonly decisionUs: number
}

export interface KeyMemory {
  readonly policy: string
  /** What a million keys add to `used_memory`, in MB, each asked for once. */
  readonly megabytes: number
}

export interface Inputs {
  readonly on: { readonly cores: number; readonly node: string; readonly redis: string }
  readonly server: ServerCosts
  readonly client: ClientCosts
  /** One way between two processes of this machine, in microseconds. */
  readonly wayUs: number
  readonly memory: readonly KeyMemory[]
}
