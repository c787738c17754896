// @ts-check
// A store on PostgreSQL. Counters are rows of a table (schema.sql). A transaction makes decisions
// in two round trips:
//
//
//   BEGIN, lock the keys, read their rows and the time  ->  decide  ->  write what changed, COMMIT
//
// Decisions of one turn of the event loop share a transaction. While all connections are busy,
// decisions of later turns join them.

import { StoreError } from '@weir/core'
import { batchOf } from '@weir/core/store'
import { Pool } from 'pg'

/** The most counters in a transaction, unless a single decision has more. A transaction locks up to
 *  two keys for each counter, and every lock takes a place in memory that all transactions of the
 *  server share: 6,400 places by default (max_connections * max_locks_per_transaction). */
const MOST_COUNTERS = 100
const SWEEP_EVERY_MS = 60_000
const SWEPT_AT_ONCE = 1_000
/** How long rows are kept after they expire, in case the clock steps back. */
const GRACE_MS = 600_000

/** @type {import('pg').PoolConfig} */
const CONNECTIONS = {
  max: 2,
  // Sends queries that do not depend on an earlier answer at once.
  pipeline: true,
  connectionTimeoutMillis: 5_000,
  query_timeout: 10_000,
  lock_timeout: 5_000,
  // How long a process that stops within a transaction can delay the others.
  idle_in_transaction_session_timeout: 5_000,
}

// Each statement sees all that was committed before it began, so the read after the locks sees what
// earlier holders of the locks wrote.
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'
// Locks names, not rows, so a key without a row is locked like any other. All transactions lock in
// the order of the hashes, so no two wait for each other. Two keys with the same hash are harmless.
const LOCK = `
  SELECT count(pg_advisory_xact_lock(hash)) FROM (
    SELECT DISTINCT hashtextextended(key, 0) AS hash FROM unnest($1::text[]) AS key ORDER BY hash
  ) AS in_order`
const NOW_US = 'coalesce($2::float8, round(extract(epoch FROM clock_timestamp()) * 1000000))'
// As text, since an application may have changed how node-postgres parses json.
const READ = `
  SELECT ${NOW_US}::float8 AS now_us, (
    SELECT json_object_agg(key, numbers)::text FROM weir_counters WHERE key = ANY ($1::text[])
  ) AS rows`
const WRITE = `
  INSERT INTO weir_counters
  SELECT key, numbers::json, until_ms FROM
    unnest($1::text[], $2::text[], $3::bigint[]) AS changed (key, numbers, until_ms)
  ON CONFLICT (key) DO UPDATE SET numbers = excluded.numbers, until_ms = excluded.until_ms`
const DELETE = 'DELETE FROM weir_counters WHERE key = ANY ($1::text[])'
// Skips rows that a transaction is writing, so it waits for nobody.
const SWEEP = `
  DELETE FROM weir_counters WHERE key IN (
    SELECT key FROM weir_counters WHERE until_ms * 1000 < ${NOW_US} - ${GRACE_MS * 1_000}
    LIMIT $1 FOR UPDATE SKIP LOCKED
  )`

/**
 * @typedef {import('@weir/core/store').BatchRequest} Request
 * @typedef {import('@weir/core/store').StoreResult} Result
 * @typedef {object} Asked
 * @property {Request} request
 * @property {(result: Result) => void} resolve
 * @property {(error: unknown) => void} reject
 */

/**
 * @param {import('pg').PoolConfig} config of the connections
 * @param {import('@weir/core').Clock} [clock] for tests; default: the database's time
 * @returns {import('@weir/core').Store & { close(): Promise<void>, sweep(): Promise<void> }}
 */
export function postgresStore(config, clock) {
  const pool = new Pool({ ...CONNECTIONS, ...config })
  // A lost connection fails the decisions that use it. If no decision uses it, the next one opens
  // another.
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  const sweeping = setInterval(() => void sweep().catch(() => {}), SWEEP_EVERY_MS).unref()
  /** @type {Asked[]} */
  const waiting = []
  let underWay = 0

  /** @param {Request} request @returns {Promise<Result>} */
  function decide(request) {
    return new Promise((resolve, reject) => {
      waiting.push({ request, resolve, reject })
      if (waiting.length === 1) setImmediate(start)
    })
  }

  function start() {
    while (waiting.length > 0 && underWay < pool.options.max) {
      underWay += 1
      void answer(waiting.splice(0, shared(waiting)))
    }
  }

  /** @param {Asked[]} asked */
  async function answer(asked) {
    try {
      const results = await transaction(asked.map(({ request }) => request))
      for (const [i, { resolve, reject }] of asked.entries()) {
        const result = results[i]
        if (result instanceof Error) reject(result)
        else resolve(/** @type {Result} */ (result))
      }
    } catch (cause) {
      const message = `PostgreSQL could not decide: ${/** @type {Error} */ (cause).message}`
      for (const { reject } of asked)
        reject(new StoreError('WEIR_STORE_FAILED', message, { cause }))
    }
    underWay -= 1
    start()
  }

  /** @param {Request[]} requests */
  async function transaction(requests) {
    const batch = batchOf(requests)
    const client = await pool.connect()
    try {
      const [, , read] = await Promise.all([
        client.query(BEGIN),
        client.query({ name: 'weir-lock', text: LOCK, values: [batch.keys] }),
        client.query({ name: 'weir-read', text: READ, values: [batch.keys, clock?.nowUs()] }),
      ])
      const { now_us, rows } = read.rows[0]
      const stored = new Map(Object.entries(JSON.parse(rows ?? '{}')))
      const { results, changes } = batch.decide(stored, Number(now_us))
      await Promise.all([...writes(client, changes), client.query('COMMIT')])
      client.release()
      return results
    } catch (error) {
      // Closing the connection ends the transaction, whatever its state.
      client.release(true)
      throw error
    }
  }

  async function sweep() {
    const values = [SWEPT_AT_ONCE, clock?.nowUs()]
    let swept
    do {
      swept = await pool.query({ text: SWEEP, values })
    } while (swept.rowCount === SWEPT_AT_ONCE)
  }

  return {
    recovers: true,
    reserves: true,
    decide,
    async reset(target) {
      await decide({ mode: 'reset', target })
    },
    sweep,
    async close() {
      clearInterval(sweeping)
      if (!pool.ending) await pool.end()
    },
  }
}

/**
 * How many of these decisions share a transaction: the first, and those that fit beside it.
 * @param {readonly Asked[]} waiting
 */
function shared(waiting) {
  let counters = 0
  const end = waiting.findIndex(({ request }, i) => {
    counters += request.target.policySet.policies.length
    return i > 0 && counters > MOST_COUNTERS
  })
  return end < 0 ? waiting.length : end
}

/**
 * @param {import('pg').PoolClient} client
 * @param {readonly import('@weir/core/store').RowChange[]} changes
 */
function writes(client, changes) {
  const kept = changes.filter(({ numbers }) => numbers !== undefined)
  const gone = changes.filter(({ numbers }) => numbers === undefined).map(({ key }) => key)
  const queries = []
  if (kept.length > 0) {
    const values = [
      kept.map(({ key }) => key),
      kept.map(({ numbers }) => JSON.stringify(numbers)),
      kept.map(({ untilMs }) => untilMs),
    ]
    queries.push(client.query({ name: 'weir-write', text: WRITE, values }))
  }
  if (gone.length > 0)
    queries.push(client.query({ name: 'weir-delete', text: DELETE, values: [gone] }))
  return queries
}
