// The limits for the sizes of packages.

import { expect, test } from 'vitest'
import { judgeSize } from '../../package-size.mjs'

const recorded = { files: 40, code: 500_000 }
const size = { ...recorded, bytes: 600_000 }

test('the code of a package may differ by a twentieth from what is recorded, and its documents by more', () => {
  const some = [
    size,
    { files: 42, code: 525_000, bytes: 900_000 },
    { files: 38, code: 475_000, bytes: 475_000 },
  ]
  for (const { files, code, bytes } of some)
    expect(judgeSize('@weir/core', { files, code, bytes }, recorded)).toBe(
      `@weir/core: ${files} files, ${bytes} bytes, of which ${code} bytes of code`,
    )
})

test.each([
  ['more code', { ...size, code: 525_001 }, 'has 500000 bytes of code'],
  ['less code', { ...size, code: 474_999 }, 'has 500000 bytes of code'],
  ['more files', { ...size, files: 43 }, 'has 40 files'],
])('a package with %s than that is refused, with where to record it', (_, other, what) => {
  const refused = () => judgeSize('@weir/core', other, recorded)
  expect(refused).toThrow(`tools/package-size.mjs ${what}; if the change is meant, write it there`)
})

test.each([
  ['1 MB', { ...size, bytes: 1_000_001 }, 'at most 1000000 bytes'],
  ['60 files', { ...size, files: 61 }, 'at most 60 files'],
])('a package of more than %s is refused, even if that is recorded', (_, other, what) => {
  expect(() => judgeSize('@weir/core', other, other)).toThrow(what)
})

test('a package without a recorded size is refused', () => {
  expect(() => judgeSize('@weir/other', size)).toThrow('tools/package-size.mjs has nothing')
})
