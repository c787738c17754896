// The messages to and from a process of waiting requests.

export interface WaitJob {
  readonly redisPort: number
}

export interface WaitTurn {
  /** What wakes waiting requests: Weir, or only timers that are set for the same times. */
  readonly by: 'Weir' | 'timers'
  /** The number of the process, from 0. */
  readonly process: number
  readonly processes: number
  readonly key: string
  readonly waiters: number
  readonly perSecond: number
}

/** For each request that passed, how long after its turn it did. */
export interface WaitReport {
  readonly lateMs: readonly number[]
}
