// A batch: requests that a store on a database decides in one transaction, with the memory store's
// driver. It does no I/O: the store reads the rows and writes the changes.

import { type Kernel, lifeUsOf } from '../algorithms/algorithm.js'
import { type Counter, decide, FORGOTTEN_MS } from '../algorithms/driver.js'
import { traitsOf } from '../algorithms/modes.js'
import { checkedNow } from '../base/clock.js'
import { StoreError } from '../base/errors.js'
import { RESET } from '../layer.js'
import { resultOf } from '../request.js'
import type { StoreRequest, StoreResult, Target } from '../store.js'
import { markKey, type RowChange, Rows, RowTable, rowKey } from './rows.js'

/** What a batch decides: a request, or a reset, which forgets what was taken of a target. */
export type BatchRequest = StoreRequest | { readonly mode: 'reset'; readonly target: Target }

/** Requests that are decided in one transaction. */
export interface Batch {
  /**
   * The keys of all rows that `decide` needs, each once, sorted: lock them in this order, so that
   * no two batches wait for each other. Printable ASCII of at most 500 characters.
   */
  readonly keys: readonly string[]
  /**
   * Decides the requests in their order; each sees the changes of those before it. It changes
   * nothing itself, so a transaction that is tried again calls it again, with the rows that it has
   * then read.
   * @param rows each row's numbers, by its key; for a row that does not exist, nothing or undefined
   * @param nowUs the database's time in whole microseconds since the Unix epoch, read once the
   * rows are locked
   * @throws {TypeError | RangeError} WEIR_INVALID_CLOCK
   */
  decide(rows: ReadonlyMap<string, readonly number[] | undefined>, nowUs: number): BatchOutcome
}

/** A batch's decisions. */
export interface BatchOutcome {
  /**
   * For each request, in their order: what to answer once the transaction is committed. Throw an
   * error (WEIR_FOREIGN_KEY: one of its rows holds something that Weir did not write) to its
   * caller; that request changes nothing. A reset answers nothing: ignore its result.
   */
  readonly results: readonly (StoreResult | StoreError)[]
  /** The rows to write or to delete before the commit, sorted by their keys. */
  readonly changes: readonly RowChange[]
}

/**
 * Makes a batch of requests for a store on a database: see docs/write-a-store.md. A batch decides
 * all algorithms and modes: set `recovers: true` and `reserves: true` on such a store.
 * @experimental
 * @example
 * const batch = batchOf([])
 * const rows = new Map() // read under locks, by the batch's keys; then the database's time
 * const { results, changes } = batch.decide(rows, Date.now() * 1_000)
 */
export function batchOf(requests: readonly BatchRequest[]): Batch {
  const asked = requests.map(rowsOf)
  const keys = [...new Set(asked.flatMap(({ keys, marks }) => [...keys, ...marks]))].sort()
  return {
    keys,
    decide(stored, nowUs) {
      const now = checkedNow('nowUs', nowUs)
      const rows = new Rows(stored)
      const results = asked.map((each) => resultIn(rows, each, now))
      return { results, changes: rows.changes(keys) }
    },
  }
}

/** A request with the keys of its rows. */
interface RequestRows {
  readonly request: BatchRequest
  readonly keys: readonly string[]
  readonly marks: readonly string[]
}

function rowsOf(request: BatchRequest): RequestRows {
  const { mode, target } = request
  const { marks, takes } = traitsOf(mode)
  const keys = target.policySet.policies.map((_, i) => rowKey(target, i))
  // Units that are taken as new ones need no mark.
  const marked = keys.filter((_, i) => {
    const settles = target.policySet.policies[i]?.kernel?.settle !== undefined
    return mode === 'reset' || !takes || settles || Number(request.costs[i]) < 0
  })
  return { request, keys, marks: marks ? marked.map(markKey) : [] }
}

function resultIn(
  rows: Rows,
  { request, keys, marks }: RequestRows,
  nowUs: number,
): StoreResult | StoreError {
  const { policies } = request.target.policySet
  try {
    // All rows are looked at before the first is changed.
    for (const [i, key] of keys.entries()) rows.of(key, policies[i]?.kernel)
    for (const key of marks) rows.of(key, undefined)
  } catch (error) {
    if (error instanceof StoreError) return error
    throw error
  }
  const counters: Counter[] = policies.map(({ kernel, numbers }) => {
    // No policy of a policy set is without a kernel: it would limit nothing.
    const own = kernel as Kernel
    return { kernel: own, scratch: own.prepare(numbers), table: new RowTable(rows, own), slot: -1 }
  })
  if (request.mode === 'reset') {
    for (const [i, counter] of counters.entries()) forget(counter, keys[i] as string, nowUs)
    return RESET
  }
  const readings = counters.map(() => ({ used: undefined, left: 0, waitMs: 0, resetUs: 0 }))
  const granted = decide(counters, keys, request, nowUs, readings)
  return resultOf(request, granted, nowUs, readings)
}

function forget({ kernel, scratch, table }: Counter, key: string, nowUs: number): void {
  table.read(scratch, key, nowUs)
  const lifeMs = Math.max(lifeUsOf(kernel, scratch) / 1_000, FORGOTTEN_MS)
  table.marks.set(key, { forgottenUs: nowUs, gaveUs: 0 }, nowUs / 1_000, lifeMs)
  table.remove(key, 0)
}
