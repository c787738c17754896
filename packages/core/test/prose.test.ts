// Comments and documents keep to the 100 columns of the code.

import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const COLUMNS = 100
const root = resolve(import.meta.dirname, '../../..')

/** Folders, with everything in them, that are not wrapped yet. The list may only get shorter. */
const NOT_YET: string[] = []

/** Files that tools build, install or keep are not prose. */
const SKIPPED = /^(node_modules|build|dist|coverage|reports|\.(?!changeset$).+)$/

function filesIn(folder: string): string[] {
  return readdirSync(resolve(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.test(entry.name)) return []
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
    return entry.isDirectory() ? filesIn(path) : [path]
  })
}

const files = filesIn('.').filter(
  (file) => /\.(ts|mts|js|mjs|cjs|lua|md)$/.test(file) && !file.includes('.generated.'),
)

function folderOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.lastIndexOf('/')) : '.'
}

function isIn(file: string, place: string): boolean {
  return file === place || file.startsWith(`${place}/`)
}

/** The lines of prose that are too long, with their numbers. */
function longLines(file: string, text: string): string[] {
  const isLong = file.endsWith('.md') ? longInMarkdown() : longComment(file.endsWith('.lua'))
  return text
    .split('\n')
    .map((line, i) => (isLong(line) ? `${file}:${i + 1}` : ''))
    .filter((place) => place !== '')
}

/** Not in code, tables, headings and generated text; the targets of links do not count. */
function longInMarkdown(): (line: string) => boolean {
  let isCode = false
  let isWritten = false
  return (line) => {
    if (/^\s*```/.test(line)) isCode = !isCode
    const mark = /^<!-- \w+:(start|end) -->/.exec(line)
    if (mark !== null) isWritten = mark[1] === 'start'
    if (isCode || isWritten || /^\s*(\||#)/.test(line)) return false
    const shown = line.replace(/\]\([^)]*\)/g, ']()').replace(/https?:\/\/\S+/g, '')
    return shown.length > COLUMNS
  }
}

/** A suppression of the linter has to be on one line. */
function longComment(isLua: boolean): (line: string) => boolean {
  const comment = isLua ? /(^|\s)--/ : /^\s*(\/\/|\/\*|\*)|\s\/\/\s/
  return (line) => line.length > COLUMNS && comment.test(line) && !line.includes('biome-ignore')
}

const wrapped = files.filter((file) => !NOT_YET.some((place) => isIn(file, place)))

test.each([...new Set(wrapped.map(folderOf))])('prose in %s ends by column 100', (folder) => {
  const own = wrapped.filter((file) => folderOf(file) === folder)
  const long = own.flatMap((file) => longLines(file, readFileSync(resolve(root, file), 'utf8')))
  expect(long).toEqual([])
})

/** Words that are private to this project, which readers would have to learn. */
const PRIVATE =
  /\b(dearer|at hand|seen to|lets? go of|turn about|untold|(is|are|was|were|been|yet) told(?! apart))\b/gi
const WRITTEN = /<!-- (\w+):start -->.*?<!-- \1:end -->/gs

test('documents for users are in words that they know', () => {
  const read = /^(docs\/|packages\/\w+\/(src\/|README)|[^/]+\.md$)/
  const found = files
    .filter((file) => read.test(file))
    .flatMap((file) => {
      // Generated text uses the words of the tools.
      const text = readFileSync(resolve(root, file), 'utf8').replace(WRITTEN, '')
      return (text.match(PRIVATE) ?? []).map((words) => `${file}: ${words}`)
    })
  expect(found).toEqual([])
})

test('folders that are listed as not wrapped exist', () => {
  expect(NOT_YET.filter((place) => !files.some((file) => isIn(file, place)))).toEqual([])
})

test('a line of 101 columns is found; a table, code and a link are not', () => {
  const word = 'w'.repeat(COLUMNS - 2)
  expect(longLines('a.ts', `// ${word}`)).toEqual(['a.ts:1'])
  expect(longLines('a.ts', `  x() // ${word}`)).toEqual(['a.ts:1'])
  expect(longLines('a.ts', `// ${word.slice(1)}\nx('${word}')`)).toEqual([])
  expect(longLines('a.lua', `x\n-- ${word}`)).toEqual(['a.lua:2'])
  expect(longLines('a.md', `${word}www\n| ${word}`)).toEqual(['a.md:1'])
  const written = `<!-- x:start -->\n${word}www\n<!-- x:end -->\n${word}www`
  expect(longLines('a.md', written)).toEqual(['a.md:4'])
  expect(longLines('a.md', `\`\`\`\n${word}www\n\`\`\`\n[a](${word})`)).toEqual([])
})
