// A limiter, or a floor, that asks Redis.

import type { Subject } from '../subject.js'
import type { Kind } from '../table.js'

/** One that is set up, with a connection of its own. */
export interface RedisSubject extends Subject {
  ask(key: string): Promise<unknown>
  /** Whether something was decided without Redis since this was last asked: the machine was too
   *  busy for a deadline. */
  disturbed?(): boolean
}

export interface RedisSubjectKind {
  readonly name: string
  readonly kind: Kind
  /** One limiter for all requests, which does not tell keys apart. */
  readonly keyless?: boolean
  /** Requests of a turn that it sends in one call, at the most. Default: 1. */
  readonly largestCall?: number
  open(port: number, limit: number): Promise<RedisSubject>
}

/** Large enough that no run reaches it; small enough that no bucket gets a unit back during one. */
export const LIMIT = 10_000_000
export const WINDOW_MS = 3_600_000
/**
 * A bucket gets a unit back after this, and all of them after 1,000 days: a whole number of days
 * keeps its key as short as usual limits do.
 */
export const UNIT_MS = 8_640
