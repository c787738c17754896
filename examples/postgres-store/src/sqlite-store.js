// @ts-check
// A store on SQLite, for processes of one host that share limits through a file, with Node 22.13 or
// later. The clock is the host's, in whole milliseconds: what is charged in the millisecond of a
// reset is not refunded. A file on a network drive cannot be shared.

import { DatabaseSync } from 'node:sqlite'
import { StoreError } from '@weir/core'
import { batchOf } from '@weir/core/store'

/** Rows stay this long after they matter, for a clock that steps back. */
const GRACE_MS = 600_000

// `busy_timeout` is how long a decision waits for other processes, and blocks its own. Then it
// fails, and `resilient` says what happens. With `synchronous = NORMAL`, the last decisions may be
// lost when the host loses power.
const OPEN = `
  PRAGMA busy_timeout = 100;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS weir (
    key TEXT PRIMARY KEY, numbers TEXT NOT NULL, until_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS weir_until_ms ON weir (until_ms);`
const WRITE = `
  INSERT INTO weir VALUES (?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET numbers = excluded.numbers, until_ms = excluded.until_ms`
const SWEEP = `
  DELETE FROM weir WHERE key IN (SELECT key FROM weir WHERE until_ms < ? LIMIT ?)`

/**
 * @param {string} path
 * @param {import('@weir/core').Clock} clock
 * @returns {import('@weir/core/store').Store}
 */
export function sqliteStore(path, clock = { nowUs: () => Date.now() * 1_000 }) {
  const db = new DatabaseSync(path)
  db.exec(OPEN)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const read = db.prepare('SELECT numbers FROM weir WHERE key = ?')
  const write = db.prepare(WRITE)
  const remove = db.prepare('DELETE FROM weir WHERE key = ?')
  const sweep = db.prepare(SWEEP)

  /**
   * Between BEGIN and COMMIT: nobody else writes to the file.
   * @param {import('@weir/core/store').BatchRequest} request
   */
  function decided(request) {
    const batch = batchOf([request])
    const rows = new Map()
    for (const key of batch.keys) {
      const row = read.get(key)
      if (row !== undefined) rows.set(key, JSON.parse(String(row.numbers)))
    }
    const nowUs = clock.nowUs()
    const { results, changes } = batch.decide(rows, nowUs)
    for (const { key, numbers, untilMs } of changes) {
      if (numbers === undefined) remove.run(key)
      else write.run(key, JSON.stringify(numbers), untilMs)
    }
    // More than were written, so that the file does not grow with the keys that are over.
    if (changes.length > 0) sweep.run(Math.floor(nowUs / 1_000) - GRACE_MS, 2 * changes.length)
    return results[0]
  }

  /** @param {import('@weir/core/store').BatchRequest} request */
  function transaction(request) {
    let result
    try {
      begin.run()
      try {
        result = decided(request)
        commit.run()
      } catch (error) {
        rollback.run()
        throw error
      }
    } catch (cause) {
      throw new StoreError('WEIR_STORE_FAILED', `SQLite could not decide: ${cause}`, { cause })
    }
    if (result === undefined || result instanceof StoreError) throw result
    return result
  }

  return {
    decide: transaction,
    reset(target) {
      transaction({ mode: 'reset', target })
    },
    close: () => db.close(),
    recovers: true,
    reserves: true,
  }
}
