// The summary at the end of `npm test`, as a newcomer sees it.

import { expect, test } from 'vitest'
// @ts-expect-error: a script, in JavaScript
import { newSummary } from '../../../scripts/summary.mjs'

const GREEN =
  '@weir/koa:test: \u001b[2m      Tests \u001b[22m \u001b[1m\u001b[32m68 passed\u001b[39m\u001b[22m (68)'

function summaryOf(code: number, ...lines: readonly string[]): string[] {
  const summary = newSummary()
  for (const line of lines) summary.read(line)
  const folderOf = (name: string) => name.replace('@weir/', 'packages/')
  return summary.lines({ code, tookMs: 61_400, folderOf })
}

test('tests of all packages are counted in one line', () => {
  const lines = [
    GREEN,
    '@weir/core:test:       Tests  1200 passed | 3 skipped (1203)',
    '@weir/core:test:       Tests  34 passed (34)',
    '@weir/core:build: $ node ../../tools/build.mjs',
    ' Tasks:    12 successful, 12 total',
  ]
  expect(summaryOf(0, ...lines)).toEqual(['1,302 tests of 2 packages passed, 3 skipped, in 61 s'])
})

test('a failed test is named, with a command that runs only that test', () => {
  const lines = [
    GREEN,
    '@weir/core:test: \u001b[41m\u001b[1m FAIL \u001b[22m\u001b[49m \u001b[30m\u001b[42m unit \u001b[49m\u001b[39m test/base/cache.test.ts\u001b[2m > \u001b[22ma group\u001b[2m > \u001b[22mholds 1 > 0',
    '@weir/core:test:  FAIL  test/base/cache.test.ts > holds nothing',
    '@weir/core:test:  FAIL  test/redis/ttl.test.ts [ test/redis/ttl.test.ts ]',
    '@weir/core:test:       Tests  2 failed | 10 passed (12)',
    ' Failed:    @weir/core#test',
  ]
  expect(summaryOf(1, ...lines)).toEqual([
    '2 tests failed; 78 tests of 2 packages passed, in 61 s',
    'failed in @weir/core:',
    '  test/base/cache.test.ts: a group > holds 1 > 0',
    '  test/base/cache.test.ts: holds nothing',
    '  test/redis/ttl.test.ts: could not be run',
    '  again: (cd packages/core && npx vitest run test/base/cache.test.ts test/redis/ttl.test.ts)',
  ])
})

test('a failure outside tests is named by its task', () => {
  expect(summaryOf(1, GREEN, ' Failed:    @weir/express#build, @weir/nest#test')).toEqual([
    '68 tests of 1 package passed, in 61 s',
    'failed: @weir/express#build; its output is above',
    'failed: @weir/nest#test; its output is above',
    'again: npm test -- --filter=@weir/express',
    'again: npm test -- --filter=@weir/nest',
  ])
})
