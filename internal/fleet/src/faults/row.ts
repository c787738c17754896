import type { Check } from './checks.js'
import type { Length } from './outage.js'
import type { Stage } from './stage.js'

/** One row of the fault matrix. */
export interface Row {
  /** The number in the matrix, and what distinguishes rows with the same number. */
  readonly number: string
  readonly variant?: string
  readonly fault: string
  /** What the limiter must do. */
  readonly must: string
  /** The row needs the whole machine. */
  readonly alone?: true
  /** The short form of the matrix leaves the row out. */
  readonly fullOnly?: true
  /** Why the row is not judged with leases: they change what its checks look at. */
  readonly notWithLeases?: string
  /** Libraries whose clients cannot be judged by the row, and why. */
  readonly notWith?: Readonly<Record<string, string>>
  run(stage: Stage, length: Length): Promise<readonly Check[]>
}

export function idOf({ number, variant }: Row): string {
  return variant === undefined ? number : `${number} ${variant}`
}
