// The TypeScript in the documents runs. The step `majors` checks its types, and runs the snippets
// that import what `npm test` does not install.

import { readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compile, inTest, packagesOf, runOf, startServers } from '../snippets/snippets.js'

// Inside this package, so that imports find what is installed for it.
const folder = resolve(import.meta.dirname, '../.cache/snippets')
/** The types of packages need not exist. */
const TRANSPILED = { noCheck: true, noResolve: true }

let servers: Awaited<ReturnType<typeof startServers>>
let complaints: string[]
beforeAll(async () => {
  complaints = compile(folder, inTest, TRANSPILED)
  servers = await startServers()
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await servers.stop()
})

test('every snippet that runs here imports only what is installed here', () => {
  const manifest = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')
  const installed = Object.keys(JSON.parse(manifest).devDependencies)
  expect(packagesOf(inTest).filter((each) => !installed.includes(each))).toEqual([])
  expect(complaints).toEqual([])
})

test('the snippets of the documents run', async () => {
  expect(await runOf(folder, inTest, servers.ports)).toBe('')
})
