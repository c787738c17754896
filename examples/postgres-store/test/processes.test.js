// @ts-check
// Several processes on one PostgreSQL server.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { RateLimiter } from '@weir/core'
import { Client } from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { postgresStore } from '../src/postgres-store.js'
import { account, address, LIMIT, PATIENT, policyOf } from './shared.js'

const connectionString = inject('postgresUrls').processes
const PROCESSES = 4

/** Four connected processes. */
async function stage() {
  const children = Array.from({ length: PROCESSES }, () =>
    fork(join(import.meta.dirname, 'worker.js'), {
      env: { ...process.env, DATABASE_URL: connectionString },
    }),
  )
  onTestFinished(async () => {
    await Promise.all(
      children.map(async (child) => {
        const exit = once(child, 'exit')
        child.disconnect()
        await exit
      }),
    )
  })
  await Promise.all(children.map((child) => once(child, 'message')))
  return children
}

/**
 * What each process reports about its job.
 * @param {import('node:child_process').ChildProcess[]} children
 * @param {import('./worker.js').Job} job
 * @returns {Promise<Record<string, number>[]>}
 */
function done(children, job) {
  return Promise.all(
    children.map(async (child, i) => {
      child.send({ ...job, process: i })
      const [{ counts, error }] = await once(child, 'message')
      if (error !== undefined) throw new Error(error)
      return counts
    }),
  )
}

test("a new key's first requests, from four processes at once, are counted exactly", async () => {
  const children = await stage()
  const keys = Array.from({ length: 40 }, (_, i) => `key-${i}`)
  // The processes together ask for twice the limit.
  const counts = await done(children, { kind: 'rush', keys, asks: (2 * LIMIT) / PROCESSES })
  for (const [i, key] of keys.entries()) {
    const allowed = counts.reduce((sum, each) => sum + (each[key] ?? 0), 0)
    expect(allowed, `${key}: ${policyOf(i).name}`).toBe(LIMIT)
  }
})

test('decisions over several keys in any order, refunds and resets never deadlock, and none is lost', async () => {
  const children = await stage()
  const store = postgresStore({ connectionString, ...PATIENT })
  onTestFinished(() => store.close())
  const sweeping = setInterval(() => void store.sweep(), 5)
  onTestFinished(() => clearInterval(sweeping))
  const counts = await done(children, { kind: 'pairs', asks: 60 })
  clearInterval(sweeping)
  for (const [policy, kind] of /** @type {const} */ ([
    [address, 'address'],
    [account, 'account'],
  ])) {
    const limiter = new RateLimiter({ name: 'pairs', store, policy, shared: true })
    for (let i = 0; i < 6; i += 1) {
      const key = `${kind}-${i}`
      const taken = counts.reduce((sum, each) => sum + (each[key] ?? 0), 0)
      expect(taken).toBeGreaterThan(0)
      expect((await limiter.peek(key)).remaining, key).toBe(policy.limit - taken)
    }
  }
  const client = new Client({ connectionString })
  await client.connect()
  const text = 'SELECT sum(deadlocks)::int AS deadlocks FROM pg_stat_database'
  expect((await client.query(text)).rows).toEqual([{ deadlocks: 0 }])
  await client.end()
})
