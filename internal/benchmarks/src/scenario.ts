// A scenario: a task for limiters, how it is measured.

import type { Table } from './table.js'

/** How much is measured. */
export interface Scale {
  readonly rounds: number
  /** How long a subject is measured in a round, in one turn or in several short ones. */
  readonly turnMs: number
  /** The number of keys for a limiter on Redis. */
  readonly keys: number
  /** The number of keys for a memory store. */
  readonly manyKeys: number
  /** Whether each round of a memory store has a new process. */
  readonly fresh: boolean
  /** Whether client and servers share a core under load: otherwise the system chooses cores,
   *  differently in each run. */
  readonly oneCore: boolean
  /** Whether load is measured on the newest Valkey as well, as in a whole run. */
  readonly onValkey: boolean
  /** The commit that `versions` compares with; if undefined, the one in tools/reference.mjs. */
  readonly reference: string | undefined
}

export const FULL: Scale = {
  rounds: 9,
  turnMs: 400,
  keys: 100_000,
  manyKeys: 1_000_000,
  fresh: true,
  oneCore: false,
  onValkey: false,
  reference: undefined,
}

export const SHORT: Scale = {
  ...FULL,
  rounds: 3,
  turnMs: 150,
  manyKeys: 200_000,
}

/** Just enough to see that everything runs. */
export const TINY: Scale = {
  ...FULL,
  rounds: 1,
  turnMs: 10,
  keys: 500,
  manyKeys: 2_000,
  fresh: false,
}

export interface Scenario {
  readonly id: string
  readonly title: string
  /** What is measured, and what a reader must know to read the figures. */
  readonly about: string
  /** Throws if a limit does not hold, since no figure means anything then. */
  measure(scale: Scale): Promise<readonly Table[]>
}
