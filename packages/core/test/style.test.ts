// Documents and comments are free of phrases that are wrong everywhere.

import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { wrongIn } from './phrases.js'

const root = resolve(import.meta.dirname, '../../..')

/** Files that are not clean yet. The list may only get shorter. */
const NOT_YET: readonly string[] = []

/** Files that tools build, install, keep or write; and released texts, which stay as they are. */
const SKIPPED = /^(node_modules|build|dist|coverage|reports|api|\.(?!changeset$).+)$/
const WRITTEN = /^docs\/reference\/|\.generated\.ts$|CHANGELOG\.md$/
/** This file, whose examples contain the phrases. */
const EXAMPLES = 'packages/core/test/style.test.ts'

function filesIn(folder: string): string[] {
  return readdirSync(resolve(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.test(entry.name)) return []
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
    return entry.isDirectory() ? filesIn(path) : [path]
  })
}

const files = filesIn('.').filter(
  (file) => /\.(md|[cm]?[jt]s|lua)$/.test(file) && !WRITTEN.test(file) && file !== EXAMPLES,
)
const wrong = new Map(
  files.map((file) => [file, wrongIn(file, readFileSync(resolve(root, file), 'utf8'))]),
)

test('documents and comments have no phrase that is wrong everywhere', () => {
  expect(files.length).toBeGreaterThan(1_000)
  expect(
    files.filter((file) => !NOT_YET.includes(file)).flatMap((file) => wrong.get(file)),
  ).toEqual([])
})

test('files that are listed as not clean exist, and are not clean', () => {
  expect(NOT_YET.filter((file) => (wrong.get(file) ?? []).length === 0)).toEqual([])
})

test.each([
  ['a.md', 'It takes so\nmany units.', 1],
  ['a.md', 'It waits, too. Who waits keeps its turn.', 2],
  ['a.md', 'A key of its own, or your own key.', 1],
  ['a.md', '```ts\n// so many\n```\n`so many` [x](so many)\n<!-- so many -->', 0],
  ['a.md', '# Who goes first\n\n- of the\n- the waiting line of of', 2],
  ['a.md', 'Who are you? Say who waits.', 0],
  ['a.ts', "const of = 'so many' // takes so\n// many", 1],
  ['a.ts', '/** Takes so\n *  many. */\nconst url = `https://a.b/so many`', 1],
  ['a.lua', '-- takes so\n-- many\nlocal x = 1 -- the the', 2],
] as const)('in %s, %j has %i of them', (file, text, count) => {
  expect(wrongIn(file, text).length).toBe(count)
})
