// The sizes of packages are held.

import { expect, test } from 'vitest'
// @ts-expect-error a tool, without types
import { judgeSize as judge } from '../../../tools/package-size.mjs'

interface Size {
  readonly files: number
  readonly bytes: number
}
const judgeSize: (name: string, size: Size, recorded?: Size) => string = judge

const recorded = { files: 40, bytes: 500_000 }

test('a package may be a twentieth off what is recorded', () => {
  for (const size of [recorded, { files: 42, bytes: 525_000 }, { files: 38, bytes: 475_000 }])
    expect(judgeSize('@weir/core', size, recorded)).toBe(
      `@weir/core: ${size.files} files, ${size.bytes} bytes`,
    )
})

test.each([
  ['more bytes', { files: 40, bytes: 525_001 }, 'has 500000 bytes'],
  ['fewer bytes', { files: 40, bytes: 474_999 }, 'has 500000 bytes'],
  ['more files', { files: 43, bytes: 500_000 }, 'has 40 files'],
])('a package of %s than that is refused, with where to record it', (_, size, what) => {
  const refused = () => judgeSize('@weir/core', size, recorded)
  expect(refused).toThrow(`tools/package-size.mjs ${what}; if the change is meant, write it there`)
})

test.each([
  ['1 MB', { files: 40, bytes: 1_000_001 }, 'at most 1000000 bytes'],
  ['60 files', { files: 61, bytes: 500_000 }, 'at most 60 files'],
])('a package of more than %s is refused, also if that is recorded', (_, size, what) => {
  expect(() => judgeSize('@weir/core', size, size)).toThrow(what)
})

test('a package of which nothing is recorded is refused', () => {
  expect(() => judgeSize('@weir/other', recorded)).toThrow('tools/package-size.mjs has nothing')
})
