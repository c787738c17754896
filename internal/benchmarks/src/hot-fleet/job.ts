// What a process of a fleet that asks for one hot key is asked, and what it says.

export interface HotJob {
  readonly redisPort: number
}

export interface HotTurn {
  readonly algorithm: 'token bucket' | 'sliding window'
  /** Of all processes, in WINDOW_MS. */
  readonly limit: number
  readonly leases: boolean
  readonly key: string
  readonly perSecond: number
  readonly forMs: number
}

export interface HotReport {
  /** Allowed requests by the ms in which they were, since the epoch. */
  readonly allowed: readonly (readonly [ms: number, count: number])[]
  readonly asked: number
  readonly byRedis: number
  /** How long decisions took, in ms: p50 and p99. */
  readonly tookMs: readonly [number, number]
  /** The part of a core that the process took. */
  readonly busy: number
}

/** The window of the sliding window; an empty bucket is full after as long. */
export const WINDOW_MS = 10_000
