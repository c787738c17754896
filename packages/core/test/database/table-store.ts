// A store on a table like that of a database, without the database: rows are texts, a transaction
// holds a lock, and each of its steps takes a turn of the event loop.

import type { Clock } from '../../src/base/clock.js'
import { type BatchRequest, batchOf, type Store } from '../../src/entries/store.js'
import type { StoreResult } from '../../src/store.js'

/** How long rows are kept after they matter, in case the clock steps back. */
const GRACE_MS = 600_000

export interface TableStore extends Store {
  readonly rows: Map<string, { readonly numbers: string; readonly untilMs: number }>
}

export function tableStore(clock: Clock): TableStore {
  const rows: TableStore['rows'] = new Map()
  let last: Promise<unknown> = Promise.resolve()

  async function transaction(requests: readonly BatchRequest[]): Promise<StoreResult[]> {
    const batch = batchOf(requests)
    await null
    const read = new Map(
      batch.keys.map((key) => [key, JSON.parse(rows.get(key)?.numbers ?? 'null') ?? undefined]),
    )
    const nowUs = clock.nowUs()
    const { results, changes } = batch.decide(read, nowUs)
    await null
    for (const { key, numbers, untilMs } of changes) {
      if (numbers === undefined) rows.delete(key)
      else rows.set(key, { numbers: JSON.stringify(numbers), untilMs })
    }
    for (const [key, { untilMs }] of rows) if (untilMs < nowUs / 1_000 - GRACE_MS) rows.delete(key)
    return results.map((result) => {
      if (result instanceof Error) throw result
      return result
    })
  }

  function locked(request: BatchRequest): Promise<StoreResult> {
    const result = last.then(() => transaction([request])).then(([only]) => only as StoreResult)
    last = result.catch(() => {})
    return result
  }

  return {
    rows,
    decide: locked,
    async reset(target) {
      await locked({ mode: 'reset', target })
    },
    recovers: true,
    reserves: true,
  }
}
