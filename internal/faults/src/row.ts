import type { Check } from './checks.js'
import type { Library } from './client/protocol.js'
import type { Length } from './outage.js'
import type { Stage } from './stage.js'

/** One row of the fault matrix. */
export interface Row {
  /** The number in the matrix, and what tells rows of one number apart. */
  readonly number: string
  readonly variant?: string
  readonly fault: string
  /** What the limiter must do. */
  readonly must: string
  /** The figures to reach, in words. */
  readonly pass: string
  /** The same fault as another row, under another use. All rows of a use must do and reach the
   *  same, so they share a table. */
  readonly use?: string
  /** It needs the whole machine. */
  readonly alone?: true
  /** The short form of the matrix leaves it out. */
  readonly fullOnly?: true
  /** Why it is not judged with leases: what its checks look at is what leases change. */
  readonly notWithLeases?: string
  /** Libraries whose clients cannot be judged by it, and why. */
  readonly notWith?: Partial<Readonly<Record<Library, string>>>
  run(stage: Stage, length: Length): Promise<readonly Check[]>
}

export function idOf({ number, variant }: Row): string {
  return variant === undefined ? number : `${number} ${variant}`
}
