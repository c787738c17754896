// Rules of the source tree: the main entry runs in a browser, imports form no cycle.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const src = resolve(import.meta.dirname, '../src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
)

function specifiersIn(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8')
  return [...text.matchAll(/\b(?:from |import |import\()'([^']+)'/g)].map(([, name = '']) => name)
}

function importsOf(file: string): string[] {
  const own = specifiersIn(file).filter((name) => name.startsWith('.'))
  return own.map((name) => join(dirname(file), name).replace(/\.js$/, '.ts'))
}

function reachedFrom(file: string): Set<string> {
  const reached = new Set<string>()
  const open = importsOf(file)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue
    reached.add(next)
    open.push(...importsOf(next))
  }
  return reached
}

test('the main entry imports nothing but @weir/core, directly or indirectly', () => {
  const reached = ['index.ts', ...reachedFrom('index.ts')]
  expect(reached).toContain('run/limiter-run.ts')
  const others = reached.flatMap(specifiersIn).filter((name) => !name.startsWith('.'))
  expect([...new Set(others)].sort()).toEqual([
    '@weir/core',
    '@weir/core/http',
    '@weir/core/internal',
    '@weir/core/store',
    '@weir/core/testing',
  ])
})

test('imports form no cycle, not even of types', () => {
  expect(files.filter((file) => reachedFrom(file).has(file))).toEqual([])
})
