// @ts-check
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { nodeBinary } from '@weir/testkit/node'
import { expect, test } from 'vitest'

test('a store on SQLite keeps the contract of a store, and who opens the file shares its limits', async () => {
  // Node 20 has no SQLite.
  const run = promisify(execFile)(nodeBinary('22.13.0'), ['--test', 'test/sqlite-cases.js'], {
    cwd: new URL('..', import.meta.url),
    maxBuffer: 1e8,
  })
  const { stdout } = await run.catch((failed) => failed)
  expect(stdout).toMatch(/^# pass \d\d/m)
  expect(stdout).toMatch(/^# fail 0$/m)
})
