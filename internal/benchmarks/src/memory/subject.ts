// A limiter that counts in this process.

import type { Subject } from '../subject.js'
import type { Kind } from '../table.js'

export interface MemoryOptions {
  readonly limit: number
  /** A unit taken alone has come back after this. */
  readonly windowMs: number
  /** As many keys are kept at once, at the most. */
  readonly most: number
}

export interface MemorySubjectKind {
  readonly name: string
  readonly kind: Kind
  /** Answers at once; the others are awaited, as their users must. */
  readonly sync: boolean
  /** One limiter for all requests, which queues what it does not let pass. */
  readonly keyless?: boolean
  /** Its windows lie on a grid, and what was counted weighs less once an edge is behind. */
  readonly onGrid?: boolean
  /** What it is not asked to do, for it would take for ever or means nothing. */
  readonly not?: readonly Exercise[]
  open(options: MemoryOptions): Subject
}

export type Exercise = 'one-key' | 'many-keys' | 'expiry' | 'churn'
