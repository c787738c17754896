// The TypeScript in the documents. A snippet is a separate module; names that it takes from the
// application around it are those of surroundings.d.ts.
//
// Later snippets of the document can import a snippet that begins with a comment such as `//
// app.module.ts`. A comment `<!-- check ... -->` after a snippet runs at the snippet's end, and can
// use its names.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startCluster, startRedis } from '@weir/testkit'
import { onTestFinished } from 'vitest'
import { documents, root } from '../test/documents.js'

const here = import.meta.dirname

/** What `npm test` does not install: the snippets that import it run in the step `majors`. */
export const ELSEWHERE: readonly string[] = [
  '@apollo/server',
  '@modelcontextprotocol/server',
  '@nestjs/websockets',
  '@trpc/server',
  '@valkey/valkey-glide',
  '@weir/compat',
  '@weir/dashboard',
  'express-rate-limit',
  'graphql',
  'graphql-query-complexity',
  'graphql-yoga',
  'redis',
  'socket.io-client',
  'zod',
]

/** Too large to be installed. surroundings.d.ts has types for its snippets, which do not run. */
const NOWHERE = 'next'

export interface Snippet {
  /** Such as `docs--redis/line-7.ts`. */
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

/** What a snippet imports: packages, those of Node, and files of its document. */
function importsOf({ file, text }: Snippet): string[] {
  const specifiers = [...text.matchAll(/^(?:import|\} from)\b.*?'([^']*)'/gm)]
  return specifiers.map(([, each = '']) => {
    if (each.startsWith('node:')) return each
    if (each.startsWith('.')) return join(file, '..', each.replace(/js$/, 'ts'))
    return each.split('/', each.startsWith('@') ? 2 : 1).join('/')
  })
}

/** The packages that snippets import. */
export function packagesOf(snippets: readonly Snippet[]): string[] {
  const files = new Set(snippets.map(({ file }) => file))
  const imported = new Set(snippets.flatMap(importsOf))
  return [...imported].filter((each) => !each.startsWith('node:') && !files.has(each))
}

/** All snippets of the documents. */
export const all: readonly Snippet[] = documents.flatMap(snippetsOf)

function isElsewhere(snippet: Snippet): boolean {
  const imported = importsOf(snippet)
  return (
    imported.some((each) => ELSEWHERE.includes(each)) ||
    all.some((other) => imported.includes(other.file) && isElsewhere(other))
  )
}

const running = all.filter((snippet) => !importsOf(snippet).includes(NOWHERE))
/** Those that `npm test` runs. */
export const inTest: readonly Snippet[] = running.filter((snippet) => !isElsewhere(snippet))
/** The others. */
export const elsewhere: readonly Snippet[] = running.filter(isElsewhere)

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
 * Runs compiled snippets one after another in one process, and those that are tests by `node
 * --test`. Returns the exit codes and the output of those that fail.
 * @param prepare a module that is imported first
 */
export async function runOf(
  folder: string,
  snippets: readonly Snippet[],
  ports: string,
  prepare?: string,
): Promise<string> {
  const filesOf = (some: readonly Snippet[]) =>
    some.map(({ file }) => join(folder, file.replace(/ts$/, 'js')))
  const has = (name: string) => (snippet: Snippet) => importsOf(snippet).includes(name)
  const tests = snippets.filter(has('node:test'))
  const others = snippets.filter((each) => !tests.includes(each))
  const first = prepare === undefined ? [] : ['--import', prepare]
  const run = ['--enable-source-maps', ...first, join(here, 'run.mjs'), ports]
  const said = await Promise.all([
    outputOf(folder, process.execPath, run, filesOf(others)),
    outputOf(folder, process.execPath, ['--test-force-exit', '--test'], filesOf(tests)),
  ])
  return said.filter(Boolean).join('\n')
}

/** The exit code and the output of a process, if it is not 0. */
async function outputOf(
  cwd: string,
  node: string,
  args: readonly string[],
  files: readonly string[],
): Promise<string> {
  if (files.length === 0) return ''
  const child = spawn(node, [...args, ...files], { cwd })
  onTestFinished(() => void child.kill())
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const [code, signal] = await once(child, 'close')
  return code === 0 ? '' : `${code ?? signal}\n${output}`
}

/** The servers whose ports the snippets name, and `ports` for `runOf`. */
export async function startServers(): Promise<{ ports: string; stop(): Promise<void> }> {
  const [redis, cluster] = await Promise.all([startRedis(), startCluster({ replicas: 0 })])
  const stop = async () => {
    await Promise.all([redis, cluster].map((server) => server.stop()))
  }
  return { ports: `6379:${redis.port},7000:${cluster.ports[0]}`, stop }
}
