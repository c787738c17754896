// The formulas, and the tables of the documents that are generated from them.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { algorithmRows } from '../src/promises/algorithm-rows.js'
import { withPart, writtenParts } from '../src/promises/bound-pages.js'
import { type BoundRow, textOf } from '../src/promises/bound-row.js'
import * as bounds from '../src/promises/bounds.js'
import { lossRows } from '../src/promises/loss-rows.js'

/** The value of `100 + 2 × 50`, `100 + (5 + 20)` and the like. Brackets contain only sums. */
function sumOf(terms: string): number {
  const product = (text: string): number =>
    text.split(' × ').reduce((value, factor) => value * Number(factor), 1)
  return terms
    .replace(/[()]/g, '')
    .replaceAll(' - ', ' + -')
    .split(' + ')
    .reduce((sum, text) => sum + product(text), 0)
}

const rows: readonly (readonly [string, BoundRow])[] = [
  ...algorithmRows.map((row) => [row.when, row] as const),
  ...Object.entries(lossRows),
]

test.each(rows)(
  'the terms of the row add up to the result of its formula: %s',
  (_, { example }) => {
    expect(sumOf(example.terms)).toBe(example.most)
    expect(textOf(example).endsWith(`${example.most}`)).toBe(true)
  },
)

test('every formula has a row', () => {
  expect([...Object.keys(lossRows), 'localQuotas'].sort()).toEqual(Object.keys(bounds).sort())
})

test.each(writtenParts.map((written) => [written.page, written] as const))(
  'docs/%s has what `pnpm fleet --write` writes',
  (name, { part, text }) => {
    const page = readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
    expect(page).toBe(withPart(page, part, text()))
  },
)

test('a page without a place for a part is refused, and a page with one changes nowhere else', () => {
  expect(() => withPart('no marks', 'losses', 'text')).toThrow('losses:start')
  const page = 'a\n<!-- x:start -->old<!-- x:end -->\nb'
  expect(withPart(page, 'x', 'new')).toBe('a\n<!-- x:start -->\n\nnew\n\n<!-- x:end -->\nb')
})

test('local quotas add up to the limit, and some are 0 when there are more processes than units', () => {
  expect(bounds.localQuotas(100, 4)).toEqual([25, 25, 25, 25])
  expect(bounds.localQuotas(10, 4)).toEqual([3, 3, 2, 2])
  expect(bounds.localQuotas(3, 4)).toEqual([1, 1, 1, 0])
})
