// Rules of the source tree: imports run one way, the core runs in a browser, the Lua is Lua 5.1 without globals, and every
// code has its section in the docs.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parse } from 'luaparse'
import { build } from 'vite'
import { describe, expect, test } from 'vitest'
import type { Policy } from '../src/algorithms/policy.js'
import { algorithms } from '../src/algorithms/registry.js'
import { scriptOf } from '../src/redis/transport/script.js'
import { makePolicySet } from '../src/request.js'

const src = resolve(import.meta.dirname, '../src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
  (file) => !file.includes('generated'),
)
const sources = files.filter((file) => file.endsWith('.ts'))

function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8')
  const specifiers = [...text.matchAll(/(?:from|import) '(\.[^']+)'/g)].map(
    (match) => match[1] as string,
  )
  return specifiers.map((specifier) =>
    relative(src, resolve(src, dirname(file), specifier)).replace(/\.js$/, '.ts'),
  )
}

/** Lower layers first; a file may import from its own layer and those before it. */
const LAYERS: RegExp[] = [
  /^base\//,
  /^algorithms\//,
  /^(store|limiter\/decision)\.ts$/,
  /^(memory|layers|redis)\//,
  /^limiter\//,
  /^(http|testing)\//,
  /^index\.ts$/,
]

describe('imports', () => {
  const layerOf = (file: string) => LAYERS.findIndex((layer) => layer.test(file))

  test('every file belongs to a layer', () => {
    expect(sources.filter((file) => layerOf(file) < 0)).toEqual([])
  })

  test.each(sources)('of %s run one way', (file) => {
    expect(importsOf(file).filter((imported) => layerOf(imported) > layerOf(file))).toEqual([])
  })

  test('make no circle', () => {
    const done = new Set<string>()
    function visit(file: string, path: readonly string[]): void {
      expect(path, `circle: ${[...path, file].join(' -> ')}`).not.toContain(file)
      if (done.has(file)) return
      // Types of a decision and of a store name each other; they vanish when compiled.
      for (const imported of importsOf(file))
        if (!isTypeOnly(file, imported)) visit(imported, [...path, file])
      done.add(file)
    }
    for (const file of sources) visit(file, [])
  })
})

test('the main entry holds no list of all algorithms, so that bundles hold those in use', () => {
  const seen = new Set<string>()
  function visit(file: string): void {
    if (seen.has(file)) return
    seen.add(file)
    for (const imported of importsOf(file)) visit(imported)
  }
  visit('index.ts')
  expect(seen).toContain('algorithms/bucket/kernel.ts')
  expect([...seen].filter((file) => /^algorithms\/(registry|.*entry)\.ts$/.test(file))).toEqual([])
})

function isTypeOnly(file: string, imported: string): boolean {
  const name = imported.replace(/^.*\//, '').replace(/\.ts$/, '.js')
  const text = readFileSync(join(src, file), 'utf8')
  const statements = [...text.matchAll(/(import|export)( type)? [^;]*? from '([^']+)'/g)]
  return statements
    .filter((match) => match[3]?.endsWith(`/${name}`))
    .every((match) => match[2] === ' type')
}

test('policies, limiter and memory store run without node: modules', async () => {
  const entry = join(src, 'limiter/limiter.ts')
  const result = await build({
    logLevel: 'silent',
    build: {
      write: false,
      lib: {
        entry: [
          entry,
          ...sources
            .filter((file) => file.startsWith('algorithms/'))
            .map((file) => join(src, file)),
        ],
        formats: ['es'],
      },
    },
  })
  const outputs = (Array.isArray(result) ? result : [result]) as { output: { code?: string }[] }[]
  const code = outputs.flatMap(({ output }) => output.map((chunk) => chunk.code ?? '')).join('\n')
  expect(code).toContain('decide')
  expect(code).not.toMatch(/from ?["']node:|require\(["']node:|__vite-browser-external/)
})

describe('Lua', () => {
  const ALLOWED = ['redis', 'KEYS', 'ARGV', 'cmsgpack', 'math', 'string', 'tonumber', 'type']
  const kernelFiles = files.filter((file) => file.endsWith('kernel.lua'))
  const policies = Object.values(algorithms).map(({ examples }) => examples[0]?.make(1) as Policy)

  function globalsOf(text: string): string[] {
    const chunk = parse(text, { luaVersion: '5.1', scope: true })
    return (chunk as unknown as { globals: { name: string }[] }).globals.map(({ name }) => name)
  }

  /** What a file sets for those that stand below it in a script. */
  function localsOf(file: string): string[] {
    const { body } = parse(readFileSync(join(src, file), 'utf8'), { luaVersion: '5.1' })
    return body.flatMap((statement) => {
      if (statement.type === 'LocalStatement') return statement.variables.map(({ name }) => name)
      if (statement.type !== 'FunctionDeclaration' || !statement.isLocal) return []
      return [(statement.identifier as { name: string }).name]
    })
  }

  test.each(files.filter((file) => file.endsWith('.lua')))(
    '%s is Lua 5.1, writes no global and reads only known ones',
    (file) => {
      const above = file.endsWith('prologue.lua') ? [] : localsOf('algorithms/prologue.lua')
      const known = [...ALLOWED, ...above, ...(file.endsWith('driver.lua') ? ['kernels'] : [])]
      const globals = globalsOf(readFileSync(join(src, file), 'utf8'))
      expect(globals.filter((name) => !known.includes(name))).toEqual([])
    },
  )

  test('what a kernel has for all policies is named apart from that of the others', () => {
    const names = ['algorithms/prologue.lua', ...kernelFiles].flatMap(localsOf)
    expect(new Set(names).size).toBe(names.length)
  })

  test('scripts of many policies are Lua 5.1 without globals of their own', () => {
    for (let count = 1; count <= 6; count += 1) {
      const many = Array.from({ length: count }, (_, i) => policies[(i + count) % 4] as Policy)
      const { source } = scriptOf({ name: 'p', policies: many })
      expect(globalsOf(source).filter((name) => !ALLOWED.includes(name))).toEqual([])
      expect(source.includes('@')).toBe(false)
    }
  })

  test('a script holds just the kernels in use, and changes only on purpose', () => {
    const sets = [...policies.map((policy) => [policy]), policies.slice(0, 2)]
    const shas = sets.map((set) => {
      const { source, sha } = scriptOf(makePolicySet('p', set))
      return `${set.map(({ kernel }) => kernel?.id).join()} ${sha} ${source.length}`
    })
    expect(shas).toMatchSnapshot()
  })
})

test('every code of an error or warning has its section in docs/errors.md, and no section is of none', () => {
  const texts = sources.map((file) => readFileSync(join(src, file), 'utf8')).join('\n')
  const codes = new Set([...texts.matchAll(/'(WEIR_[A-Z_]+)'/g)].map((match) => match[1]))
  const docs = readFileSync(join(src, '../../../docs/errors.md'), 'utf8')
  const sections = [...docs.matchAll(/^## (WEIR_[A-Z_]+)$/gm)].map((match) => match[1])
  expect(sections.sort()).toEqual([...codes].sort())
})
