import { expect, test } from 'vitest'
import { hashOf } from '../src/run/hash.js'
import { KeyTable } from '../src/run/key-table.js'

function numbersOf(table: KeyTable, texts: readonly string[]): number[] {
  return texts.map((text) => table.numberOf(text))
}

test('keys are numbered in the order in which they come, however many there are', () => {
  const table = new KeyTable(100_000, 'a test')
  const texts = Array.from({ length: 50_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`)
  const numbers = [...texts.keys()]
  expect(numbersOf(table, texts)).toEqual(numbers)
  expect(numbersOf(table, texts)).toEqual(numbers)
  expect([table.count, table.texts]).toEqual([50_000, texts])
})

test('keys that were chosen for similar hashes are distinguished, and found in a few steps', () => {
  const alike: string[] = []
  for (let i = 0; alike.length < 1_000; i += 1)
    if ((hashOf(`k${i}`) & 0xfff) === 0) alike.push(`k${i}`)
  const table = new KeyTable(2_000, 'a test')
  const others = Array.from({ length: 500 }, (_, i) => `o${i}`)
  const texts = [...others, ...alike]
  expect(numbersOf(table, texts)).toEqual([...texts.keys()])
  expect(numbersOf(table, texts)).toEqual([...texts.keys()])
  expect(() =>
    numbersOf(
      table,
      Array.from({ length: 501 }, (_, i) => `n${i}`),
    ),
  ).toThrow(/a test has more than 2000 keys/)
})
