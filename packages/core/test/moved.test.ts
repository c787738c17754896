// Names that have left the root work until 1.0, and say where they are.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test, vi } from 'vitest'
import * as adaptive from '../src/entries/adaptive.js'
import * as live from '../src/entries/live.js'
import * as moved from '../src/entries/moved.js'
import * as store from '../src/entries/store.js'
import * as root from '../src/index.js'

const entries: Readonly<Record<string, object>> = { adaptive, live, store }
const src = resolve(import.meta.dirname, '../src')
const page = readFileSync(resolve(import.meta.dirname, '../../../docs/migrating.md'), 'utf8')

test('a moved function does what that of its entry does, and warns once with its new import', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const memory = root.memoryStore()
  const policy = root.fixedWindow({ name: 'p', limit: 1, window: '1m' })
  const load = () => policy
  for (let times = 0; times < 2; times += 1) {
    expect(
      moved.livePolicies(memory, { name: 'n', defaults: { p: policy } }).policy('p'),
    ).toBeTypeOf('function')
    expect(moved.limitsFrom({ load, default: policy, ttl: '1m' }).policy).toBeTypeOf('function')
    expect(moved.adaptive(policy, { signal: () => 0 }).factor).toBe(1)
    expect(moved.eventLoopDelay()).toBeTypeOf('function')
    expect(moved.eventLoopUtilization()).toBeTypeOf('function')
    expect(moved.responses({ errors: 0.1 })()).toBeUndefined()
    expect(moved.resilient(memory).health().state).toBe('never-connected')
  }
  const seen = warn.mock.calls.map(([text]) => String(text))
  expect(seen.length).toBe(Object.keys(moved).length)
  for (const name of Object.keys(moved)) {
    const entry =
      seen.join('\n').match(new RegExp(`import \\{ ${name} \\} from '@weir/core/(\\w+)'`))?.[1] ??
      ''
    expect(Object.keys(entries[entry] ?? {}), name).toContain(name)
  }
})

test('docs/migrating.md lists every moved name', () => {
  const text = readFileSync(resolve(src, 'entries/moved.ts'), 'utf8')
  const names = [...text.matchAll(/^export (?:type|const) (\w+)/gm)].map(([, name]) => name)
  expect(names.length).toBeGreaterThan(40)
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})

test('the root exports at most 60 names besides those', () => {
  const index = readFileSync(resolve(src, 'index.ts'), 'utf8')
  const named = [...index.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(',').filter((name) => name.trim() !== ''),
  )
  const starred = [...index.matchAll(/^export (?:type )?\* from '\.\/(.*)\.js'/gm)]
    .filter(([, file]) => file !== 'entries/moved')
    .flatMap(([, file]) => [
      ...readFileSync(resolve(src, `${file}.ts`), 'utf8').matchAll(/^export \w+ \w+/gm),
    ])
  expect(named.length + starred.length).toBeLessThanOrEqual(60)
})
