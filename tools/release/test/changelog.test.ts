// What a changelog says about its newest version exists.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './root.js'

const packages = ['compat', 'core', 'dashboard', 'express', 'koa', 'metrics', 'nest', 'simulate']

function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function newestOf(name: string): { readonly version: string; readonly notes: string } {
  const [, newest = ''] = textOf(`packages/${name}/CHANGELOG.md`).split(/^## /m)
  const [version = '', ...lines] = newest.split('\n')
  return { version, notes: lines.join('\n') }
}

/** The packages of the newest version; new packages come with the next one. */
const released = packages.filter((name) => newestOf(name).version !== '')

/** All names that users may use: public types, and those in READMEs, the reference and error
 *  codes. */
const known = [
  ...packages.flatMap((name) =>
    readdirSync(join(root, `packages/${name}/api`)).map((file) => `packages/${name}/api/${file}`),
  ),
  ...readdirSync(join(root, 'docs/reference')).map((file) => `docs/reference/${file}`),
  ...packages.map((name) => `packages/${name}/README.md`),
  'docs/errors.md',
].map(textOf)
const names = new Set(known.flatMap((text) => text.match(/[\w$]+/g) ?? []))

/** Names of removed things, and those of others: Node, TypeScript, ioredis, Nest, the user. */
const GONE = ['settled']
const FOREIGN = [
  ...['assert', 'deepStrictEqual', 'require', 'skipLibCheck'],
  ...['db', 'overrideProvider', 'MyRequest'],
]

/** The names in code, without strings that users choose. */
function namesIn(notes: string): string[] {
  const spans = [...notes.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
  return spans.flatMap((code) => {
    const quoted = [...code.matchAll(/'([a-z][\w-]*)'/g)].map(([, text = '']) => text)
    const others = code.replace(/'[^']*'/g, '').match(/[A-Za-z_$][\w$]*/g) ?? []
    return [...others, ...quoted.flatMap((text) => text.split('-'))]
  })
}

test.each(released)('the changelog of %s has the version in its package.json', (name) => {
  const manifest = JSON.parse(textOf(`packages/${name}/package.json`)) as { version: string }
  expect(newestOf(name).version).toBe(manifest.version)
})

test('all packages have one version', () => {
  expect(new Set(released.map((name) => newestOf(name).version)).size).toBe(1)
})

test.each(released)('the names in the newest changelog of %s exist', (name) => {
  const named = namesIn(newestOf(name).notes)
  const unknown = named.filter((each) => ![...GONE, ...FOREIGN].includes(each) && !names.has(each))
  expect([...new Set(unknown)]).toEqual([])
  expect(named.length).toBeGreaterThan(5)
})

test('what a changelog calls removed is removed', () => {
  expect(GONE.filter((name) => known.some((text) => text.includes(`'${name}'`)))).toEqual([])
})
