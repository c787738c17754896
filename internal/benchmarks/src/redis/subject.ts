// A limiter, or a floor, that uses Redis.

import type { Subject } from '../subject.js'
import type { Kind } from '../table.js'

/** A subject that is set up with its own connection. */
export interface RedisSubject extends Subject {
  ask(key: string): Promise<unknown>
  /** Whether anything was decided without Redis since the last call, since the machine was too busy
   *  for a deadline. */
  disturbed?(): boolean
}

export interface RedisSubjectKind {
  readonly name: string
  readonly kind: Kind
  open(port: number, limit: number): Promise<RedisSubject>
}

/** Large enough that no run reaches it; small enough that no bucket gets a unit back in a run. */
export const LIMIT = 10_000_000
export const WINDOW_MS = 3_600_000
/**
 * A bucket gets a unit back after this time, and all of them after 1,000 days: a whole number of
 * days keeps its key as short as with usual limits.
 */
export const UNIT_MS = 8_640
