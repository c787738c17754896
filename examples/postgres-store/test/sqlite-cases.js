// @ts-check
// The tests of the store on SQLite, which sqlite.test.js runs with a Node that has SQLite.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { RateLimiter, slidingWindow } from '@weir/core'
import { storeConformance } from '@weir/core/testing'
import { sqliteStore } from '../src/sqlite-store.js'

for (const { name, run } of storeConformance((clock) => sqliteStore(':memory:', clock)))
  test(name, run)

test('who opens the file shares its limits', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-sqlite-'))
  const policy = slidingWindow({ limit: 100, window: '1m' })
  const stores = [1, 2].map(() => sqliteStore(join(folder, 'limits.db')))
  const [one, other] = stores.map((store) => new RateLimiter({ name: 'api', store, policy }))
  await one?.consume('u42')
  assert.equal((await other?.peek('u42'))?.remaining, 99)
  for (const store of stores) await store.close?.()
  rmSync(folder, { recursive: true })
})
