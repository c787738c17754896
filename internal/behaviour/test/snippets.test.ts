// The TypeScript in the documents compiles and runs. A snippet is a separate module; names that it
// takes from the application around it are those of ../snippets/surroundings.d.ts.
//
// Later snippets of the document can import a snippet that begins with a comment such as `//
// app.module.ts`. A comment `<!-- check ... -->` after a snippet runs at the snippet's end, and can
// use its names.

import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { startCluster, startRedis, startSentinel } from '@weir/testkit'
import { nodeBinary } from '@weir/testkit/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { documents, root } from './documents.js'

const here = resolve(import.meta.dirname, '../snippets')
// Inside this package, so that imports find what is installed for it.
const folder = resolve(import.meta.dirname, '../.cache/snippets')

interface Snippet {
  readonly file: string
  readonly text: string
}

const SNIPPET = /^```ts\n(.*?)^```\n(?:\n*<!-- check\n(.*?)-->)?/gms

/** Each snippet keeps its line numbers in the document, so that messages point to them. */
function snippetsOf(document: string): Snippet[] {
  const markdown = readFileSync(join(root, document), 'utf8')
  return [...markdown.matchAll(SNIPPET)].map((match) => {
    const [whole, shown = '', check = ''] = match
    const line = markdown.slice(0, match.index).split('\n').length
    const name = /^\/\/ ([\w./-]+\.ts)\n/.exec(shown)?.[1] ?? `line-${line}.ts`
    const between = whole.slice(whole.indexOf(shown) + shown.length, whole.lastIndexOf(check))
    const gap = check === '' ? '' : '\n'.repeat(between.split('\n').length - 1)
    const file = `${document.replace(/\.md$/, '').replaceAll('/', '--')}/${name}`
    return { file, text: `${'\n'.repeat(line)}${shown}${gap}${check}export {}\n` }
  })
}

/** The errors that the compiler reports in strict mode. */
function complaintsOf(snippets: readonly Snippet[], less: object = {}): string[] {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(here, 'surroundings.d.ts'), join(folder, 'surroundings.d.ts'))
  for (const { file, text } of snippets) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  const compilerOptions = {
    ...{ target: 'es2022', module: 'nodenext', types: ['node'] },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true, sourceMap: true },
    ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
    ...less,
  }
  const files = ['surroundings.d.ts', ...snippets.map(({ file }) => file)]
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  })
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '')
}

/** The exit code of a document's snippets, and the output if it is not 0. */
async function runOf(snippets: readonly Snippet[], ports: string): Promise<string> {
  const files = snippets.map(({ file }) => join(folder, file.replace(/ts$/, 'js')))
  const isTest = ({ text }: Snippet): boolean => text.includes("from 'node:test'")
  const tests = files.filter((_, i) => isTest(snippets[i] as Snippet))
  const others = files.filter((file) => !tests.includes(file))
  const runs = [...tests.map((file) => [file]), ...(others.length > 0 ? [others] : [])]
  // Node 20 has no SQLite.
  const hasSqlite = snippets.some(({ text }) => text.includes("from 'node:sqlite'"))
  const node = hasSqlite ? nodeBinary('22.13.0') : process.execPath
  // Clients and servers stay open. But a forced exit cuts off the last tests of many.
  const exit = hasSqlite ? [] : ['--test-force-exit']
  let said = ''
  for (const run of runs) {
    const args = ['--enable-source-maps', join(here, 'run.mjs'), ports, ...run]
    if (tests.includes(run[0] as string)) args.splice(0, 3, ...exit, '--test')
    const child = spawn(node, args, { cwd: folder })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    const late = setTimeout(() => child.kill(), 80_000)
    const code = await new Promise((end) =>
      child.on('close', (status, signal) => end(status ?? signal)),
    )
    clearTimeout(late)
    if (code !== 0) said += `${code}\n${output}`
  }
  return said
}

let servers: readonly { stop(): Promise<void> }[] = []
let ports: string
let complaints: string[]
const ofDocuments = documents.map((document) => [document, snippetsOf(document)] as const)

beforeAll(async () => {
  complaints = complaintsOf(ofDocuments.flatMap(([, snippets]) => snippets))
  const [redis, cluster, sentinel] = await Promise.all([
    startRedis(),
    startCluster({ replicas: 0 }),
    startSentinel(),
  ])
  servers = [redis, cluster, sentinel]
  ports = `6379:${redis.port},7000:${cluster.ports[0]},26379:${sentinel.sentinelPorts[0]}`
})

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await Promise.all(servers.map((server) => server.stop()))
})

test("every snippet of the documents compiles in TypeScript's strictest mode", () => {
  expect(complaints).toEqual([])
  expect(ofDocuments.flatMap(([, snippets]) => snippets).length).toBeGreaterThan(10)
})

test.each(ofDocuments.filter(([, snippets]) => snippets.length > 0))(
  'the snippets of %s run',
  async (_, snippets) => {
    expect(await runOf(snippets, ports)).toBe('')
  },
)

const DENIED = `import type { Decision } from '@weir/nest'
export function why(decision: Decision): string {
  return decision.allowed ? 'allowed' : decision.reason + decision.retryAfterMs.toFixed()
}
`

test('the snippets for Nest compile with the settings of a Nest 10 project: without strictNullChecks', {
  timeout: 60_000,
}, () => {
  const ofNest = ofDocuments.filter(([document]) => document.includes('nest'))
  expect(ofNest.length).toBeGreaterThan(2)
  const snippets = ofNest.flatMap(([, all]) => all)
  const less = { strict: false, strictNullChecks: false, exactOptionalPropertyTypes: false }
  const apart = snippets.map((snippet) => ({ ...snippet, file: `lax-${snippet.file}` }))
  expect(complaintsOf([...apart, { file: 'lax-denied.ts', text: DENIED }], less)).toEqual([])
})

test('a snippet that does not compile is reported, with its line', { timeout: 60_000 }, () => {
  const text =
    "\n\nimport { rateLimit } from '@weir/express'\nrateLimit({ limit: '100', window: '1m' })\nexport {}\n"
  expect(complaintsOf([{ file: 'wrong.ts', text }])[0]).toMatch(/^wrong\.ts\(4,13\): error/)
})

test('a snippet that throws is reported, with its line', { timeout: 60_000 }, async () => {
  const snippet = {
    file: `a/${basename('line-1.ts')}`,
    text: '\n\nassert.equal(1, 2)\nexport {}\n',
  }
  expect(complaintsOf([snippet])).toEqual([])
  expect(await runOf([snippet], ports)).toContain('line-1.ts:3')
})
