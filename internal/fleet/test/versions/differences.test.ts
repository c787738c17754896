import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DIFFERENCES, isKnown } from '../../src/versions/differences.js'

const readme = readFileSync(new URL('../../src/versions/README.md', import.meta.url), 'utf8')

test('the known differences are those of the README', () => {
  const listed = Object.values(DIFFERENCES).flat()
  const rows = listed.map(({ check, why }) => `| ${check} | ${why} |`)
  const [, table = ''] = readme.split('| check | why it differs |\n|---|---|\n')
  expect(table.split('\n\n')[0]?.split('\n')).toEqual(rows)
})

test('a difference is known only for its commit and its check', () => {
  const problem = 'settings: a change has a version'
  expect(isKnown('2d54f0d2', 'conformance', problem)).toBe(true)
  expect(isKnown('2d54f0d2', 'walks', problem)).toBe(false)
  expect(isKnown('0123456', 'conformance', problem)).toBe(false)
})
