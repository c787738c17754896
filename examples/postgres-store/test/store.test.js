// @ts-check
import { fixedWindow, RateLimiter } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { Client } from 'pg'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { postgresStore } from '../src/postgres-store.js'
import { PATIENT } from './shared.js'

const connectionString = inject('postgresUrls').store

/** @param {import('@weir/core').Clock} [clock] */
async function stage(clock) {
  const client = new Client({ connectionString })
  await client.connect()
  const store = postgresStore({ connectionString, ...PATIENT }, clock)
  onTestFinished(async () => {
    await Promise.all([client.end(), store.close()])
  })
  /** @param {string} text @param {unknown[]} [values] */
  const ask = async (text, values) => (await client.query(text, values)).rows
  return { store, ask }
}

test('expired rows are swept, without waiting for rows that somebody is writing', async () => {
  const clock = fakeClock(Date.UTC(2026, 6, 1))
  const { store, ask } = await stage(clock)
  const minute = fixedWindow({ name: 'minute', limit: 5, window: '1m' })
  const hour = fixedWindow({ name: 'hour', limit: 5, window: '1h' })
  const limiter = new RateLimiter({ name: 'swept', store, policy: [minute, hour] })
  await Promise.all(Array.from({ length: 7 }, (_, i) => limiter.consume(`k${i}`)))
  const left = async () => {
    const [row] = await ask(
      `SELECT count(*)::int AS rows FROM weir_counters WHERE key LIKE 'swept:minute%'`,
    )
    return row.rows
  }
  clock.advance('10m')
  await store.sweep()
  expect(await left()).toBe(7)
  await ask('BEGIN')
  await ask(`SELECT 1 FROM weir_counters WHERE key LIKE 'swept:minute%:k0' FOR UPDATE`)
  clock.advance('2m')
  await store.sweep()
  await ask('COMMIT')
  expect(await left()).toBe(1)
  await store.sweep()
  expect(await left()).toBe(0)
  expect((await limiter.peek('k0')).policies.map(({ remaining }) => remaining)).toEqual([5, 4])
})

test('decisions of one turn share a transaction, and use the time of the database', async () => {
  const { store, ask } = await stage()
  // The clock of the process is a year ahead.
  vi.setSystemTime(Date.now() + 365 * 86_400_000)
  onTestFinished(() => void vi.useRealTimers())
  const policy = fixedWindow({ name: 'minute', limit: 50, window: '1m' })
  const limiter = new RateLimiter({ name: 'turn', store, policy })
  const decisions = await Promise.all(Array.from({ length: 60 }, () => limiter.consume('k')))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(50)
  // All decisions have the same time.
  expect(new Set(decisions.map(({ resetAfterMs }) => resetAfterMs))).toEqual(new Set([60_000]))
  const [row] = await ask(
    `SELECT numbers, extract(epoch FROM now())::float8 * 1000 AS now_ms
     FROM weir_counters WHERE key LIKE 'turn:%'`,
  )
  const [count, endMs] = row.numbers
  expect(count).toBe(50)
  expect(Math.abs(endMs - 60_000 - row.now_ms)).toBeLessThan(60_000)
})

test('a decision that waited for its key is made at the time when it gets the key', async () => {
  const { store, ask } = await stage()
  const policy = fixedWindow({ name: 'hour', limit: 5, window: '1h' })
  const limiter = new RateLimiter({ name: 'waited', store, policy })
  await limiter.consume('k')
  const [row] = await ask(`SELECT key, numbers FROM weir_counters WHERE key LIKE 'waited:%'`)
  await ask('BEGIN')
  await ask('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [row.key])
  const waiting = limiter.consume('k')
  await vi.waitFor(async () => {
    const text = `SELECT 1 FROM pg_stat_activity
      WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))`
    expect(await ask(text)).toHaveLength(1)
  })
  const [{ now_ms }] = await ask(
    'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms',
  )
  await ask('COMMIT')
  const { resetAfterMs } = await waiting
  const [, endMs] = row.numbers
  expect(endMs - resetAfterMs).toBeGreaterThanOrEqual(Math.floor(now_ms))
})

test('counters are read correctly, whatever parsers the application has for its own types', async () => {
  await stage()
  const types = { getTypeParser: () => /** @param {string} text */ (text) => text }
  const store = postgresStore({ connectionString, ...PATIENT, types })
  onTestFinished(() => store.close())
  const policy = fixedWindow({ name: 'minute', limit: 3, window: '1m' })
  const limiter = new RateLimiter({ name: 'types', store, policy })
  const answers = []
  for (let i = 0; i < 5; i += 1) answers.push((await limiter.consume('k')).allowed)
  expect(answers).toEqual([true, true, true, false, false])
})

test('transactions stay small, however many policies decide, so that all find room for their locks', async () => {
  const { ask } = await stage()
  const policies = Array.from({ length: 20 }, (_, i) => {
    return fixedWindow({ name: `p${i}`, limit: 9, window: '1h' })
  })
  const stores = Array.from({ length: 8 }, () => postgresStore({ connectionString, ...PATIENT }))
  onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))))
  const refunds = stores.flatMap((store, s) => {
    const limiter = new RateLimiter({ name: 'room', store, policy: policies, shared: true })
    return Array.from({ length: 200 }, (_, i) => limiter.refund(`k${s}-${i}`))
  })
  await expect(Promise.all(refunds)).resolves.toHaveLength(1_600)
  expect(await ask(`SELECT 1 FROM pg_locks WHERE locktype = 'advisory'`)).toEqual([])
})

test('a row that Weir did not write fails only the decisions that need it', async () => {
  const { store, ask } = await stage()
  const policy = fixedWindow({ name: 'minute', limit: 5, window: '1m' })
  const limiter = new RateLimiter({ name: 'foreign', store, policy })
  await limiter.consume('mine')
  const text = `UPDATE weir_counters SET numbers = '"what"' WHERE key LIKE 'foreign:%'`
  await ask(text)
  const [mine, other] = await Promise.allSettled([limiter.consume('mine'), limiter.consume('k')])
  expect(mine).toMatchObject({ reason: { code: 'WEIR_FOREIGN_KEY' } })
  expect(other).toMatchObject({ value: { allowed: true } })
})

test('when PostgreSQL cannot be asked, decisions fail with its reason', async () => {
  const { store } = await stage()
  const policy = fixedWindow({ name: 'minute', limit: 5, window: '1m' })
  const lost = postgresStore({ connectionString: 'postgres://weir@127.0.0.1:1/postgres' })
  onTestFinished(() => lost.close())
  const limiter = new RateLimiter({ name: 'lost', store: lost, policy })
  await expect(limiter.consume('k')).rejects.toMatchObject({
    code: 'WEIR_STORE_FAILED',
    message: expect.stringContaining('ECONNREFUSED'),
  })
  await store.close()
  const closed = new RateLimiter({ name: 'closed', store, policy })
  await expect(closed.consume('k')).rejects.toMatchObject({ code: 'WEIR_STORE_FAILED' })
})
