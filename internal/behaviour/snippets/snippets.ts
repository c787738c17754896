// The TypeScript in the documents. A snippet is a separate module; names that it takes from the
// application around it are those of surroundings.d.ts.
//
// Later snippets of the document can import a snippet that begins with a comment such as `//
// app.module.ts`. A comment `<!-- check ... -->` after a snippet runs at the snippet's end, and can
// use its names.

import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startCluster, startRedis, startSentinel } from '@weir/testkit'
import { nodeBinary } from '@weir/testkit/node'
import { documents, root } from '../test/documents.js'

const here = import.meta.dirname

/** What `npm test` does not install: the snippets that import it run in the step `majors`. */
export const ELSEWHERE: readonly string[] = [
  '@nestjs/websockets',
  '@valkey/valkey-glide',
  '@weir/compat',
  '@weir/dashboard',
  'express-rate-limit',
  'iovalkey',
  'redis',
  'socket.io-client',
]

export interface Snippet {
  readonly file: string
  readonly text: string
}

export type Document = readonly [path: string, snippets: readonly Snippet[]]

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

/** The packages that a snippet imports, without those of Node. */
export function packagesOf({ text }: Snippet): string[] {
  const specifiers = [...text.matchAll(/^(?:import|\} from).*?'([^'.][^']*)'/gm)].map(([, each]) => each)
  return specifiers
    .filter((each = '') => !each.startsWith('node:'))
    .map((each = '') => each.split('/').slice(0, each.startsWith('@') ? 2 : 1).join('/'))
}

function isElsewhere(snippet: Snippet): boolean {
  return packagesOf(snippet).some((each) => ELSEWHERE.includes(each))
}

/** The documents that have snippets, with all of them. */
export const all: readonly Document[] = documents
  .map((path): Document => [path, snippetsOf(path)])
  .filter(([, snippets]) => snippets.length > 0)

const only = (holds: (snippet: Snippet) => boolean): readonly Document[] =>
  all
    .map(([path, snippets]): Document => [path, snippets.filter(holds)])
    .filter(([, snippets]) => snippets.length > 0)

/** The snippets that `npm test` runs. */
export const inTest: readonly Document[] = only((snippet) => !isElsewhere(snippet))
/** The others. */
export const elsewhere: readonly Document[] = only(isElsewhere)

/**
 * Compiles snippets into a folder of the package whose dependencies they import, and returns what
 * the compiler says.
 */
export function compile(
  folder: string,
  snippets: readonly Snippet[],
  compilerOptions: object,
): string[] {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(here, 'surroundings.d.ts'), join(folder, 'surroundings.d.ts'))
  for (const { file, text } of snippets) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  const always = {
    ...{ target: 'es2022', module: 'nodenext', types: ['node'], skipLibCheck: true },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true, sourceMap: true },
  }
  const options = { ...always, ...compilerOptions }
  const files = ['surroundings.d.ts', ...snippets.map(({ file }) => file)]
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }))
  const tsc = join(here, '../node_modules/typescript/bin/tsc')
  const args = [tsc, '-p', folder, '--pretty', 'false']
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '')
}

/**
 * Runs the compiled snippets of a document, and returns the exit code and the output if it is not
 * 0.
 * @param prepare a module that run.mjs imports first
 */
export async function runOf(
  folder: string,
  snippets: readonly Snippet[],
  ports: string,
  prepare?: string,
): Promise<string> {
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
    const first = prepare === undefined ? [] : ['--import', prepare]
    const args = ['--enable-source-maps', ...first, join(here, 'run.mjs'), ports, ...run]
    const asTest = [...exit, '--test', ...run]
    const child = spawn(node, tests.includes(run[0] as string) ? asTest : args, { cwd: folder })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    const hung = setTimeout(() => child.kill(), 110_000)
    const code = await new Promise((end) =>
      child.on('close', (status, signal) => end(status ?? signal)),
    )
    clearTimeout(hung)
    if (code !== 0) said += `${code}\n${output}`
  }
  return said
}

/** The servers whose ports the snippets name, and `ports` for `runOf`. */
export async function startServers(): Promise<{ ports: string; stop(): Promise<void> }> {
  const [redis, cluster, sentinel] = await Promise.all([
    startRedis(),
    startCluster({ replicas: 0 }),
    startSentinel(),
  ])
  const ports = [
    `6379:${redis.port}`,
    `7000:${cluster.ports[0]}`,
    `26379:${sentinel.sentinelPorts[0]}`,
  ]
  const stop = async () => {
    await Promise.all([redis, cluster, sentinel].map((server) => server.stop()))
  }
  return { ports: ports.join(','), stop }
}
