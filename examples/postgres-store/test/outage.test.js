// @ts-check
// A PostgreSQL server that is killed and comes back.

import { setTimeout } from 'node:timers/promises'
import { fixedWindow, RateLimiter, tokenBucket } from '@weir/core'
import { resilient } from '@weir/core/store'
import { startPostgres } from '@weir/testkit'
import { expect, onTestFinished, test, vi } from 'vitest'
import { postgresStore } from '../src/postgres-store.js'
import { createTable } from './server.js'
import { PATIENT } from './shared.js'

const window = fixedWindow({ name: 'window', limit: 100, window: '1d' })
const bucket = tokenBucket({ name: 'bucket', capacity: 200, refill: 1, every: '1d' })

async function stage() {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  await createTable(server.url)
  const connect = () => postgresStore({ connectionString: server.url, ...PATIENT })
  // The long deadline keeps a busy machine from making decisions late.
  const store = resilient(connect(), { deadlineMs: 60_000 })
  onTestFinished(() => store.close())
  /** The limit as another process sees it. */
  const others = connect()
  onTestFinished(() => others.close?.())
  const limiter = new RateLimiter({ name: 'api', store, policy: [window, bucket], shared: true })
  const elsewhere = new RateLimiter({ name: 'api', store: others, policy: [window, bucket] })
  return { server, store, limiter, elsewhere }
}

/** @param {RateLimiter} limiter @param {string} key @param {number} asks */
async function ask(limiter, key, asks) {
  const decisions = await Promise.all(Array.from({ length: asks }, () => limiter.consume(key)))
  return {
    allowed: decisions.filter(({ allowed }) => allowed).length,
    degraded: decisions.filter(({ degraded }) => degraded).length,
  }
}

/** @param {import('@weir/core/store').ResilientStore} store */
async function recovered(store) {
  await vi.waitFor(() => {
    expect(store.health()).toMatchObject({ state: 'closed', localKeys: 0 })
  })
}

test('limits hold through a kill and a restart of the server', async () => {
  const { server, store, limiter, elsewhere } = await stage()
  expect(await ask(limiter, 'k', 40)).toEqual({ allowed: 40, degraded: 0 })
  await server.kill()
  // The process goes by what it last saw: 60 units are left, and no other process takes any of
  // them.
  expect(await ask(limiter, 'k', 100)).toEqual({ allowed: 60, degraded: 100 })
  expect(await ask(limiter, 'new', 30)).toEqual({ allowed: 30, degraded: 30 })
  await server.restart()
  await recovered(store)
  const { policies } = await elsewhere.peek('k')
  expect(policies.map(({ remaining }) => remaining)).toEqual([0, 100])
  expect((await elsewhere.peek('new')).policies.map(({ remaining }) => remaining)).toEqual([
    70, 170,
  ])
  expect(await ask(limiter, 'k', 10)).toEqual({ allowed: 0, degraded: 0 })
  expect(await ask(limiter, 'new', 100)).toEqual({ allowed: 70, degraded: 0 })
})

test('a kill during decisions lets no more pass than the limits, and the server forgets no decision', async () => {
  const { server, store, limiter, elsewhere } = await stage()
  const keys = ['a', 'b', 'c']
  /** @type {Record<string, number>} */
  const allowed = {}
  let asks = 0
  let isOver = false
  const traffic = keys.map(async (key) => {
    allowed[key] = 0
    while (!isOver) {
      const some = await ask(limiter, key, 3)
      allowed[key] += some.allowed
      asks += 3
      // Decisions without the server are immediate, so they would leave no time for anything else.
      await setTimeout(5)
    }
  })
  await vi.waitFor(() => expect(asks).toBeGreaterThan(60))
  await server.kill()
  const before = asks
  await vi.waitFor(() => expect(asks).toBeGreaterThan(before + 30))
  await server.restart()
  await recovered(store)
  isOver = true
  await Promise.all(traffic)
  for (const key of keys) {
    const { policies } = await elsewhere.peek(key)
    expect(allowed[key]).toBeGreaterThan(0)
    expect(allowed[key]).toBeLessThanOrEqual(100)
    // A decision that was made but never answered counts as taken.
    for (const { limit, remaining } of policies)
      expect(remaining, key).toBeLessThanOrEqual(limit - (allowed[key] ?? 0))
  }
})
