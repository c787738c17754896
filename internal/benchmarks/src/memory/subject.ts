// A limiter that counts in this process.

import type { Subject } from '../subject.js'
import type { Kind } from '../table.js'

export interface MemoryOptions {
  readonly limit: number
  /** A single unit that was taken has come back after this time. */
  readonly windowMs: number
  /** The most keys that are kept at once. */
  readonly most: number
}

export interface MemorySubjectKind {
  readonly name: string
  readonly kind: Kind
  /** Whether it answers synchronously; other answers are awaited, as users must. */
  readonly sync: boolean
  /** Its windows lie on a grid, and units count for less after an edge. */
  readonly onGrid?: boolean
  /** Exercises that would take forever or mean nothing. */
  readonly not?: readonly Exercise[]
  open(options: MemoryOptions): Subject
}

export type Exercise = 'one-key' | 'many-keys'
