// The TypeScript in all documents compiles, and that which imports what `npm test` does not install
// runs.

import { readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  all,
  compile,
  ELSEWHERE,
  elsewhere,
  packagesOf,
  runOf,
  type Snippet,
  startServers,
} from '../../../snippets/snippets.js'

// Inside this package, so that imports find what is installed for it.
const folder = resolve(import.meta.dirname, '../.cache/snippets')
const prepare = join(import.meta.dirname, 'glide.mjs')
const STRICT = { strict: true, exactOptionalPropertyTypes: true }

let servers: Awaited<ReturnType<typeof startServers>>
let complaints: string[]
beforeAll(async () => {
  complaints = compile(folder, all, STRICT)
  servers = await startServers()
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await servers.stop()
})

test("every snippet of the documents compiles in TypeScript's strictest mode", () => {
  expect(complaints).toEqual([])
  expect(all.length).toBeGreaterThan(10)
})

test('what the snippets import that run only here is not installed for `npm test`', () => {
  const behaviour = join(import.meta.dirname, '../../../package.json')
  const installed = Object.keys(JSON.parse(readFileSync(behaviour, 'utf8')).devDependencies)
  expect(ELSEWHERE.filter((each) => installed.includes(each))).toEqual([])
  const imported = packagesOf(elsewhere)
  expect(ELSEWHERE.filter((each) => !imported.includes(each))).toEqual([])
})

test('the snippets that run only here run', async () => {
  expect(await runOf(folder, elsewhere, servers.ports, prepare)).toBe('')
})

test('a snippet that throws is reported, with its line', async () => {
  const snippet = { file: 'throws/line-1.ts', text: '\n\nassert.equal(1, 2)\nexport {}\n' }
  const own = `${folder}-throws`
  expect(compile(own, [snippet], STRICT)).toEqual([])
  expect(await runOf(own, [snippet], servers.ports)).toContain('line-1.ts:3')
  rmSync(own, { recursive: true })
})

/** What the compiler says, of snippets in a folder of their own. */
function complaintsOf(name: string, snippets: readonly Snippet[], options: object): string[] {
  const own = `${folder}-${name}`
  const found = compile(own, snippets, { ...options, noEmit: true })
  rmSync(own, { recursive: true })
  return found
}

const DENIED = `import type { Decision } from '@weir/nest'
export function why(decision: Decision): string {
  return decision.allowed ? 'allowed' : decision.reason + decision.retryAfterMs.toFixed()
}
`

test('the snippets for Nest compile with the settings of a Nest 10 project: without strictNullChecks', () => {
  const ofNest = all.filter(({ file }) => file.includes('nest'))
  expect(ofNest.length).toBeGreaterThan(2)
  const snippets = [...ofNest, { file: 'denied.ts', text: DENIED }]
  const less = { strict: false, strictNullChecks: false, exactOptionalPropertyTypes: false }
  expect(complaintsOf('lax', snippets, less)).toEqual([])
})

test('a snippet that does not compile is reported, with its line', () => {
  const text =
    "\n\nimport { rateLimit } from '@weir/express'\nrateLimit({ limit: '100', window: '1m' })\nexport {}\n"
  const [first] = complaintsOf('wrong', [{ file: 'wrong.ts', text }], STRICT)
  expect(first).toMatch(/^wrong\.ts\(4,13\): error/)
})
