// What the documents show is TypeScript that compiles. A snippet is a module of its own; names that
// it takes from the application around it are declared in ../snippets.d.ts.

import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const root = resolve(import.meta.dirname, '../../..')
// Within this package, so that imports find what is installed for it.
const folder = resolve(import.meta.dirname, '../.cache/snippets')

const documents = [
  'README.md',
  ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`),
  ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
].filter((path) => path.endsWith('.md') && !path.includes('testkit') && !path.includes('behaviour'))

interface Snippet {
  readonly file: string
  readonly text: string
}

/** Each on the lines that it has in its document, so that the compiler's messages name them. */
function snippetsOf(document: string): Snippet[] {
  const markdown = readFileSync(join(root, document), 'utf8')
  return [...markdown.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => {
    const line = markdown.slice(0, match.index).split('\n').length
    const file = `${document.replaceAll('/', '--')}--line-${line}.ts`
    return { file, text: `${'\n'.repeat(line)}${match[1]}export {}\n` }
  })
}

/** What the compiler, as strict as a careful user's, says of them. */
function complaintsOf(snippets: readonly Snippet[]): string[] {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  copyFileSync(join(import.meta.dirname, '../snippets.d.ts'), join(folder, 'snippets.d.ts'))
  for (const { file, text } of snippets) writeFileSync(join(folder, file), text)
  const compilerOptions = {
    ...{ target: 'es2023', module: 'nodenext', types: ['node'], experimentalDecorators: true },
    ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true, noEmit: true },
  }
  const files = ['snippets.d.ts', ...snippets.map(({ file }) => file)]
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  })
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '')
}

test('every snippet of the documents compiles, as strict as TypeScript can be told', {
  timeout: 60_000,
}, () => {
  const snippets = documents.flatMap(snippetsOf)
  expect(snippets.length).toBeGreaterThan(10)
  expect(complaintsOf(snippets)).toEqual([])
})

test('one that does not compile is found, on its line', { timeout: 60_000 }, () => {
  const text =
    "\n\nimport { rateLimit } from '@weir/express'\nrateLimit({ limit: '100', window: '1m' })\nexport {}\n"
  expect(complaintsOf([{ file: 'wrong.ts', text }])[0]).toMatch(/^wrong\.ts\(4,13\): error/)
})
