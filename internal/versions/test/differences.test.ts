import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DIFFERENCES, knownOf } from '../src/differences.js'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

test('the known differences are those of the README', () => {
  const listed = Object.values(DIFFERENCES).flat()
  const rows = listed.map(({ check, why }) => `| ${check} | ${why} |`)
  const [, table = ''] = readme.split('| check | why it differs |\n|---|---|\n')
  expect(table.trim().split('\n')).toEqual(rows)
})

test('a difference is known for its commit and its check only', () => {
  const problem = 'settings: a change has a version'
  expect(knownOf('2d54f0d2', 'conformance', [problem])).toEqual({ known: 1, unknown: [] })
  expect(knownOf('2d54f0d2', 'walks', [problem])).toEqual({ known: 0, unknown: [problem] })
  expect(knownOf('0123456', 'conformance', [problem])).toEqual({ known: 0, unknown: [problem] })
})
