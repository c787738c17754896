// A measured figure is in one document, and others link to it: two copies would differ after the
// next measurement.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { figuresIn } from '../figures.mjs'
import { root } from './clone.js'

/** Documents that users do not read, or that were true when they were written. */
const OTHERS = /^internal\/|\/api\/|CHANGELOG|^\.changeset\/|^\.github\//

function documentsByFigure(): ReadonlyMap<string, readonly string[]> {
  const tracked = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
  const documents = tracked.split('\n').filter((path) => path !== '' && !OTHERS.test(path))
  const found = new Map<string, string[]>()
  for (const path of documents)
    for (const figure of figuresIn(readFileSync(join(root, path), 'utf8')))
      found.set(figure, [...(found.get(figure) ?? []), path])
  return found
}

const byFigure = documentsByFigure()

test('no measured figure is in two documents', () => {
  const wrong = [...byFigure].filter(([, documents]) => documents.length > 1)
  expect(wrong.map(([figure, documents]) => `${figure}: ${documents.join(', ')}`)).toEqual([])
})

test('figures are found in the present documents', () => {
  expect(byFigure.size).toBeGreaterThan(50)
})

test('a measured figure is found in prose, with each unit, and in lists', () => {
  const text = 'It takes 4.6 and 2.5 us, 0.92 to 1.08 times as long, 1,460 bytes, 42 % or 5.4 s.'
  expect([...figuresIn(text)]).toEqual([
    ...['4.6 us', '2.5 us', '0.92 times', '1.08 times', '1,460 bytes', '42 %', '5.4 s'],
  ])
  expect([...figuresIn('127,400 decisions a second, and\n412 ms')]).toEqual([
    '127,400 /s',
    '412 ms',
  ])
})

test('defaults, limits, versions, code and targets of links are not figures', () => {
  const text = `After 500 ms, 1.5 s or 70 %, 1,000 a second, in 0.2.0 of 2025-01-01: \`3.6 us\` and
[a page](3.6us.md), with status 429.

\`\`\`ts
// 3.6 us
\`\`\`
`
  expect([...figuresIn(text)]).toEqual([])
})

const TABLE = `| | client CPU, us (x INCR) | rows |
|---|---|---|
| one | 3.61 (1.42) | 777 |

| | one | two |
|---|---|---|
| process, bytes a key | 1,460 | 60 |
`

test('numbers of a table have the unit of their column or row', () => {
  expect([...figuresIn(TABLE)]).toEqual(['3.61 us', '1,460 bytes'])
})

test('in generated text, only columns and rows with a unit count, and three digits', () => {
  const written = `<!-- x:start -->\n${TABLE}\nmax 724 ms, 3.6 us\n<!-- x:end -->\n`
  expect([...figuresIn(written)]).toEqual([...figuresIn(TABLE)])
  expect([...figuresIn(written.replaceAll('3.61', '3.6'))]).not.toContain('3.6 us')
})
