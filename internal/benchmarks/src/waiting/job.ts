// What a process of those who wait is asked, and what it says.

export interface WaitJob {
  readonly redisPort: number
}

export interface WaitTurn {
  /** What wakes those who wait: Weir, or nothing but timers, set for the same times. */
  readonly by: 'Weir' | 'timers'
  /** Of the processes, by number from 0. */
  readonly process: number
  readonly processes: number
  readonly key: string
  readonly waiters: number
  readonly perSecond: number
}

/** For each that passed, how long after its turn. */
export interface WaitReport {
  readonly lateMs: readonly number[]
}
