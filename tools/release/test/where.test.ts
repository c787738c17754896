// The address of the project is set in one place, in any form that npm knows for GitHub.

import { expect, test } from 'vitest'
import { originOf, whereItLives } from '../where.mjs'

const URL = 'https://github.com/owner/na.me'

test.each([
  'github:owner/na.me',
  'owner/na.me',
  'https://github.com/owner/na.me',
  'https://github.com/owner/na.me.git',
  'git+https://github.com/owner/na.me.git',
  'git://github.com/owner/na.me.git',
  'git+ssh://git@github.com/owner/na.me.git',
])('%s', (repository) => {
  expect(whereItLives({ repository })).toBe(URL)
  expect(whereItLives({ repository: { type: 'git', url: repository } })).toBe(URL)
})

test.each([
  [''],
  ['https://github.com/owner'],
  ['https://example.org/owner/name'],
  ['https://github.com.example.org/owner/name'],
  ['gitlab:owner/name'],
  [null],
  [7],
  [{}],
])('%j is refused, with what to write', (repository) => {
  expect(() => whereItLives({ repository })).toThrow('; write "repository": "github:OWNER/NAME" in')
})

test('a missing address is no error', () => {
  expect(whereItLives({})).toBeUndefined()
})

test('a package names its folder', () => {
  expect(originOf(URL, 'packages/core')).toEqual({
    repository: { type: 'git', url: `git+${URL}.git`, directory: 'packages/core' },
    homepage: `${URL}/tree/HEAD/packages/core#readme`,
    bugs: { url: `${URL}/issues` },
  })
})
