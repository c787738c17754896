// What the planning simulation knows of a machine: the CPU times of both sides, and how long a
// message takes. measure.ts measures them.

/** CPU times of a server's main thread, in microseconds. */
export interface ServerCosts {
  /** To wake up after it has slept; and the extra time after a rest of a millisecond, when the
   *  caches hold something else. */
  readonly wakeUs: number
  readonly restedUs: number
  /** To read what has arrived on a connection, and to write the replies. */
  readonly readUs: number
  /** For each call, for each key in it, and extra for a key that is written. */
  readonly callUs: number
  readonly keyUs: number
  readonly changeUs: number
}

/** CPU times of a process for Weir and its client together, in microseconds. */
export interface ClientCosts {
  /** For a write, and for reading its replies. */
  readonly writeUs: number
  readonly callUs: number
  readonly keyUs: number
  /** For each decision, whether or not it shares a key in a call. */
  readonly decisionUs: number
}

export interface KeyMemory {
  readonly policy: string
  /** What a million keys add to `used_memory`, in MB, with one request for each key. */
  readonly megabytes: number
}

export interface Inputs {
  readonly on: { readonly cores: number; readonly node: string; readonly redis: string }
  readonly server: ServerCosts
  readonly client: ClientCosts
  /** The time of a message between two processes of this machine, in microseconds. */
  readonly wayUs: number
  readonly memory: readonly KeyMemory[]
}
