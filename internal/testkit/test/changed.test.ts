// Which tests `npm test -- --changed` runs for a change.

import { describe, expect, test } from 'vitest'
// @ts-expect-error: a script, in JavaScript
import { testsOf } from '../../../scripts/changed.mjs'

const RULES = 'run --project unit test/prose.test.ts test/style.test.ts test/house.test.ts'

/** The runs of vitest, by package. */
function runsOf(...files: readonly string[]): Record<string, string[]> {
  const wanted = testsOf(files) as { name: string; runs: string[][] }[]
  return Object.fromEntries(
    wanted.map(({ name, runs }) => [
      name.replace('@weir/', ''),
      runs.map((args) => args.join(' ')),
    ]),
  )
}

test('a change to a package runs all of its tests, and the rules of all sources', () => {
  const expected = { core: [RULES], koa: ['run'] }
  expect(runsOf('packages/koa/src/index.ts')).toEqual(expected)
  expect(runsOf('packages/koa/package.json')).toEqual(expected)
  expect(runsOf('internal/nest-versions/nest10/vitest.config.ts')).toEqual({
    core: [RULES],
    'nest-versions-10': ['run'],
  })
})

test('no change runs nothing', () => {
  expect(runsOf()).toEqual({})
})

test('a change to documents checks the links, the changelogs and the prose', () => {
  const expected = {
    core: [RULES],
    behaviour: ['run test/documents.test.ts test/changelog.test.ts'],
    release: ['run test/documents.test.ts'],
  }
  expect(runsOf('docs/redis.md')).toEqual(expected)
  expect(runsOf('packages/nest/README.md')).toEqual(expected)
})

test('a change to what adapters build on runs the tests of the adapters', () => {
  const { core = [], ...adapters } = runsOf('packages/core/src/http/consume.ts')
  expect(adapters).toEqual({ express: ['run'], koa: ['run'], nest: ['run'] })
  expect(core).toHaveLength(1)
  expect(core[0]).toContain(`${RULES} `)
  expect(core[0]).toContain('test/http/http-limiter.test.ts')
})

describe('of core', () => {
  const redisOf = (file: string) =>
    runsOf(file).core?.find((run) => run.includes('--project redis'))

  test.each([
    ['packages/core/src/redis/transport/batching.ts', ['batching', 'conformance']],
    ['packages/core/src/layers/leases/leases.ts', ['conformance', 'leases']],
    ['packages/core/test/redis/leases.test.ts', ['leases']],
    ['packages/core/test/redis/waiters/policies.ts', ['waiting']],
    ['packages/core/src/limiter/receipts.ts', undefined],
  ])('%s: these tests with Redis run: %j', (file, names) => {
    const files = names?.map((name) => `test/redis/${name}.test.ts`).join(' ')
    expect(redisOf(file)).toBe(files && `run --project redis ${files}`)
  })

  const unitOf = (file: string) =>
    (runsOf(file).core?.[0] ?? '').split(' ').slice(RULES.split(' ').length)

  test.each([
    // The tests of the same folder, and those that reach the file.
    ['src/limiter/receipts.ts', ['limiter/refunds', 'limiter/settle', 'http/http-limiter']],
    ['src/base/duration.ts', ['base/duration', 'algorithms/policies']],
    ['src/redis/transport/batching.ts', ['layers/five-layers']],
    ['src/memory/table.ts', ['memory/table', 'memory/stores']],
  ])('%s: these tests without Redis run: %j', (file, names) => {
    const tests = unitOf(`packages/core/${file}`)
    for (const name of [...names, 'memory/conformance'])
      expect(tests).toContain(`test/${name}.test.ts`)
    // Fewer than all tests, all of which reach the file through an index.
    expect(tests.length).toBeLessThan(50)
  })

  test('a changed test runs itself', () => {
    expect(unitOf('packages/core/test/limiter/keys.test.ts')).toEqual(['test/limiter/keys.test.ts'])
    expect(unitOf('packages/core/test/redis/leases.test.ts')).toEqual([])
  })

  test('a changed Lua kernel runs the tests of its twin and of the scripts', () => {
    const [unit, redis] = runsOf('packages/core/src/algorithms/bucket/kernel.lua').core ?? []
    expect(unit).toContain('test/algorithms/bucket/bucket-exact.test.ts')
    for (const name of ['conformance', 'differential'])
      expect(redis).toContain(`test/redis/${name}.test.ts`)
  })

  test('a changed report of public types is compared', () => {
    expect(runsOf('packages/core/api/core.api.md').core).toEqual([
      `${RULES} test/public-types.test.ts`,
    ])
  })

  test('a changed configuration runs all tests that need no Redis', () => {
    expect(runsOf('packages/core/package.json').core).toEqual(['run --project unit'])
  })
})
