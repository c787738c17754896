// The messages to and from a process of a fleet that requests one hot key.

export interface HotJob {
  readonly redisPort: number
}

export interface HotTurn {
  readonly algorithm: 'token bucket' | 'sliding window'
  /** The limit of all processes together, in WINDOW_MS. */
  readonly limit: number
  readonly leases: boolean
  readonly key: string
  readonly perSecond: number
  readonly forMs: number
}

export interface HotReport {
  /** The number of allowed requests in each ms since the epoch. */
  readonly allowed: readonly (readonly [ms: number, count: number])[]
  readonly asked: number
  readonly byRedis: number
  /** The p50 and p99 of the times of decisions, in ms. */
  readonly tookMs: readonly [number, number]
  /** The part of a core that the process used. */
  readonly busy: number
}

/** The window of the sliding window, and the time in which an empty bucket refills. */
export const WINDOW_MS = 10_000
