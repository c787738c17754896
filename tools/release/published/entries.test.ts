// All entries of the packages in one process: each class, counter and warning exists once.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { publishedPackages } from '../packages.mjs'
import { root } from '../test/root.js'
import { COPIES, run } from './process.js'

test.each(COPIES)('entries share the classes of the copy %s', (_, options) => {
  const program = `
    import { RateLimiter, StoreError, memoryStore } from '@weir/core'
    import { httpLimiter } from '@weir/core/http'
    import { batchOf } from '@weir/core/store'
    import { rateLimit, StoreError as StoreErrorOfExpress } from '@weir/express'

    const store = memoryStore()
    const other = rateLimit({ limit: 1, window: '1m', store })
    await store.close()
    const error = await other.limiter.consume('ann').catch((error) => error)
    console.log(JSON.stringify({
      express: other.limiter instanceof RateLimiter,
      http: httpLimiter({ limit: 1, window: '1m' }, {}).limiter instanceof RateLimiter,
      store: typeof batchOf,
      errors: StoreErrorOfExpress === StoreError,
      thrown: error instanceof StoreError,
    }))
  `
  expect(run(program, options)).toEqual({
    express: true,
    http: true,
    store: 'function',
    errors: true,
    thrown: true,
  })
})

test('ESM and CommonJS share one copy: limiters of both count together, and warn once', () => {
  const program = `
    import { createRequire } from 'node:module'
    import * as esm from '@weir/core'
    import * as glide from '@weir/core/glide'
    import * as http from '@weir/core/http'
    import * as nodeRedis from '@weir/core/node-redis'
    import * as store from '@weir/core/store'
    import * as testing from '@weir/core/testing'

    const require = createRequire(import.meta.url)
    const commonJs = require('@weir/core')
    const warnings = []
    process.on('warning', ({ code }) => warnings.push(code))
    const shared = commonJs.memoryStore()
    const onDecision = () => { throw new Error('of a listener') }
    const limiters = [esm, commonJs].map(({ RateLimiter, fixedWindow }) => {
      const policy = fixedWindow({ limit: 3, window: '1m' })
      return new RateLimiter({ name: 'login', store: shared, policy, shared: true, onDecision })
    })
    const allowed = []
    for (let i = 0; i < 4; i += 1) allowed.push((await limiters[i % 2].consume('ann')).allowed)
    await new Promise((resolve) => setImmediate(resolve))
    const entries = { '': esm, '/glide': glide, '/http': http, '/node-redis': nodeRedis }
    Object.assign(entries, { '/store': store, '/testing': testing })
    const other = Object.entries(entries).flatMap(([path, entry]) => {
      const required = require('@weir/core' + path)
      return Object.keys({ ...entry, ...required }).filter((name) => entry[name] !== required[name])
    })
    console.log(JSON.stringify({ allowed, warnings, other }))
  `
  expect(run(program, ['--no-warnings'])).toEqual({
    allowed: [true, true, true, false],
    warnings: ['WEIR_OBSERVER_FAILED'],
    other: [],
  })
})

test('the copy for bundlers has the exports of the copy for Node', () => {
  const program = `
    import * as core from '@weir/core'
    import * as glide from '@weir/core/glide'
    import * as http from '@weir/core/http'
    import * as nodeRedis from '@weir/core/node-redis'
    import * as store from '@weir/core/store'
    const entries = [core, glide, http, nodeRedis, store]
    console.log(JSON.stringify(entries.map((entry) => Object.keys(entry).sort())))
  `
  const [ofNode, ofBundlers] = COPIES.map(([, options]) => run(program, options))
  expect(ofBundlers).toEqual(ofNode)
  expect(ofNode).toHaveLength(5)
})

test.each(COPIES)('functions and classes keep their names in the copy %s', (_, options) => {
  const program = `
    import * as core from '@weir/core'
    import * as http from '@weir/core/http'
    import * as store from '@weir/core/store'
    const named = Object.entries({ ...core, ...http, ...store })
      .filter(([, value]) => typeof value === 'function')
      .map(([name, value]) => [name, value.name])
    console.log(JSON.stringify(named))
  `
  const named = run(program, options) as [string, string][]
  expect(named.filter(([exported, name]) => exported !== name)).toEqual([])
  expect(named.length).toBeGreaterThan(20)
})

test('the frames of a stack trace are lines that name the called function', () => {
  const program = `
    import { RateLimiter, fixedWindow } from '@weir/core'
    const limiter = new RateLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) })
    const { stack } = await limiter.consume('ann', { cost: -1 }).catch((error) => error)
    console.log(JSON.stringify(stack.split('\\n').slice(1)))
  `
  const frames = (run(program) as string[]).flatMap((frame) => {
    const [, name = '', path, line] =
      /at (?:async )?(?:new )?([\w.#$]+) .*?(\/.+):(\d+):\d+\)/.exec(frame) ?? []
    return path === undefined ? [] : [{ name, path, line: Number(line) }]
  })
  const own = frames.filter(({ path }) => path.includes('/packages/core/dist/'))
  expect(own.length).toBeGreaterThan(2)
  for (const [i, { path, line }] of own.entries()) {
    const text = readFileSync(path, 'utf8').split('\n')[line - 1]
    // Each frame is in the function that the next one calls.
    const called = own[i - 1]?.name.split('.').at(-1) ?? 'Error'
    expect(text?.length).toBeLessThan(200)
    expect(text).toContain(called)
  }
})

test.each(publishedPackages(root))(
  'who does not have an optional peer of $manifest.name can use all entries but that for it',
  ({ folder, manifest: { exports = {}, peerDependenciesMeta = {} } }) => {
    const dist = join(root, folder, 'dist')
    const entries = Object.keys(exports).map((path) => path.slice(2) || 'index')
    const importing = Object.keys(peerDependenciesMeta).map((peer) =>
      entries.filter((entry) => importedBy(dist, `${entry}.d.ts`).has(peer)),
    )
    expect(importing.filter((some) => some.length > 1 || some.includes('index'))).toEqual([])
  },
)

/** What declarations import, with what they import of their package. */
function importedBy(dist: string, file: string, seen: Set<string> = new Set()): Set<string> {
  if (seen.has(file) || !existsSync(join(dist, file))) return seen
  seen.add(file)
  const text = readFileSync(join(dist, file), 'utf8')
  for (const [, id = ''] of text.matchAll(/(?:from|import) '([^']+)'/g)) {
    if (!id.startsWith('.')) seen.add(id)
    else importedBy(dist, join(dirname(file), id).replace(/\.([cm]?)js$/, '.d.$1ts'), seen)
  }
  return seen
}
