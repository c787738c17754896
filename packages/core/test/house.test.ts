// Rules of the source tree: imports run one way, the core runs in a browser, the Lua is Lua 5.1
// without globals, and every error code has a section in the documents.

import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { parse } from 'luaparse'
import { describe, expect, test } from 'vitest'
import { modesLua } from '../src/algorithms/lua.generated.js'
import { CALL_MODES } from '../src/algorithms/modes.js'
import type { Policy } from '../src/algorithms/policy.js'
import { scriptOf } from '../src/redis/transport/script.js'
import { makePolicySet } from '../src/request.js'
import { algorithms, policyFactories } from '../src/testing/algorithms.js'

const src = resolve(import.meta.dirname, '../src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
  (file) => !file.includes('generated'),
)
const sources = files.filter((file) => file.endsWith('.ts'))

/** The imports of each file, including those of types only. */
const imports = new Map(sources.map((file) => [file, importsIn(file)]))

function importsIn(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8')
  const specifiers = [...text.matchAll(/\b(?:from |import |import\()'(\.[^']+)'/g)]
  return specifiers.map(([, specifier]) =>
    relative(src, resolve(src, dirname(file), specifier as string)).replace(/\.js$/, '.ts'),
  )
}

function importsOf(file: string): string[] {
  return imports.get(file) ?? []
}

/** From the ground up: a file may import from its own folder and from those before it. */
const ROOMS: RegExp[] = [
  /^base\//,
  /^algorithms\//,
  /^(store|crossings|layer|request|policy-input|settings)\.ts$/,
  /^memory\//,
  /^database\//,
  /^layers\//,
  /^redis\//,
  /^live\//,
  /^limiter\//,
  /^overload\//,
  /^http\//,
  /^testing\//,
  /^(entries\/|index\.ts$)/,
  /^cli\//,
]
/** Folders at the same level, which may not import each other. */
const BESIDE = [
  ['http', 'testing'],
  ['memory', 'database'],
]

describe('imports', () => {
  const roomOf = (file: string) => ROOMS.findIndex((room) => room.test(file))
  const areBeside = (...files: string[]) => {
    const names = files.map((file) => file.split('/')[0])
    return BESIDE.some((beside) => beside.every((room) => names.includes(room)))
  }

  test('every file belongs to a folder', () => {
    expect(sources.filter((file) => roomOf(file) < 0)).toEqual([])
  })

  test('run one way', () => {
    const wrong = sources.flatMap((file) =>
      importsOf(file)
        .filter((imported) => roomOf(imported) > roomOf(file) || areBeside(file, imported))
        .map((imported) => `${file} -> ${imported}`),
    )
    expect([...new Set(wrong)].sort()).toEqual([])
  })

  test('form no cycle, not even of types', () => {
    expect(circlesOf(sources)).toEqual([])
  })
})

test('the main entry has no list of all algorithms, so that bundles contain only those in use', () => {
  const seen = reachedFrom(['index.ts'])
  expect(seen).toContain('algorithms/bucket/kernel.ts')
  expect([...seen].filter((file) => file.startsWith('testing/'))).toEqual([])
})

/** Files, and all that they import, directly or indirectly. */
function reachedFrom(files: readonly string[]): Set<string> {
  const reached = new Set<string>()
  const open = [...files]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    open.push(...importsOf(file))
  }
  return reached
}

/** Groups of files that import each other, directly or indirectly. */
function circlesOf(files: readonly string[]): string[] {
  const reach = new Map(files.map((file) => [file, reachedFrom(importsOf(file))]))
  const meet = (a: string, b: string) => reach.get(a)?.has(b) && reach.get(b)?.has(a)
  const circles = files
    .filter((file) => meet(file, file))
    .map((file) => files.filter((other) => meet(file, other)))
    .map((circle) => circle.sort().join(', '))
  return [...new Set(circles)].sort()
}

test('nothing outside algorithms/ looks for an algorithm by its name: see its traits', () => {
  const names = Object.values(policyFactories).map(({ of }) => of(1, '1m').algorithm)
  const literal = new RegExp(`'(?:${names.join('|')})'`)
  /** May compare the algorithms of two policies. */
  const isShared = (file: string): boolean => file.startsWith('algorithms/')
  const looking = sources
    .filter((file) => !/^algorithms\/[\w-]+\//.test(file))
    .filter((file) => {
      // Examples in comments are users' code.
      const text = readFileSync(join(src, file), 'utf8').replace(/^\s*(\/\/|\/?\*).*/gm, '')
      return literal.test(text) || (!isShared(file) && /\balgorithm [!=]==/.test(text))
    })
  expect(looking.sort()).toEqual([])
})

test('nothing outside algorithms/modes.ts lists modes: see their traits', () => {
  const mode = `'(?:${Object.keys(CALL_MODES).join('|')})'`
  const either = mode.replaceAll("'", '\\b').replace(/^(.*)$/, '$1\\|$1')
  const equals = `mode\\b\\)? [!=~]==? ${mode}`
  const lists = new RegExp(
    `[[(,]\\s*${mode},\\s*${mode}|${either}|${equals}\\s+(?:&&|\\|\\||and|or)\\s[^'\\n]*${equals}|case ${mode}:`,
  )
  const listing = files
    .filter((file) => file !== 'algorithms/modes.ts' && /\.(ts|lua)$/.test(file))
    // Each case names the mode that it asks a store for.
    .filter((file) => !file.startsWith('testing/cases/'))
    .filter((file) => lists.test(readFileSync(join(src, file), 'utf8')))
  expect(listing).toEqual([])
})

test('policies, memory store, layers and limiter run without node: modules', () => {
  const rooms =
    /^(base|algorithms|memory|database|layers|live|limiter|overload)\/|^(layer|policy-input|request|settings|store)\.ts$/
  const reached = reachedFrom(sources.filter((file) => rooms.test(file)))
  const bare = new RegExp(`(?:from |import\\()["'](?:${builtinModules.join('|')})["']`)
  expect(reached.size).toBeGreaterThan(100)
  const importing = [...reached].filter((file) => {
    const text = readFileSync(join(src, file), 'utf8')
    const code = text.replace(/^\s*(\/\/|\/?\*).*|^import type .*|typeof import\(.*?\)/gm, '')
    return /["']node:[\w/]+["']/.test(code) || bare.test(code)
  })
  expect(importing).toEqual([])
})

describe('Lua', () => {
  const ALLOWED = [
    'redis',
    'KEYS',
    'ARGV',
    'cmsgpack',
    'math',
    'string',
    'struct',
    'table',
    'tonumber',
    'type',
  ]
  const kernelFiles = files.filter((file) => file.endsWith('kernel.lua'))
  const policies = Object.values(algorithms).map(({ examples }) => examples[0]?.make(1) as Policy)
  const plain = policies.filter(({ kernel }) => kernel?.lua.isPlain)

  const modeLocals = [...modesLua.matchAll(/^local (\w+)/gm)].map(([, name]) => name)

  function globalsOf(text: string): string[] {
    const chunk = parse(text, { luaVersion: '5.1', scope: true })
    return (chunk as unknown as { globals: { name: string }[] }).globals.map(({ name }) => name)
  }

  /** The locals of a file, which those below it in a script can see. */
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
      const made = file.endsWith('driver.lua')
        ? ['begins', 'counters', 'notifies', 'numbers', ...modeLocals]
        : ['numbers']
      const known = [...ALLOWED, ...above, ...made]
      const globals = globalsOf(readFileSync(join(src, file), 'utf8'))
      expect(globals.filter((name) => !known.includes(name))).toEqual([])
    },
  )

  test('the names of what a kernel has for all policies differ from those of other kernels', () => {
    const names = ['algorithms/prologue.lua', ...kernelFiles].flatMap(localsOf)
    expect(new Set(names).size).toBe(names.length)
  })

  test('scripts for many policies are Lua 5.1 without their own globals', () => {
    for (let count = 1; count <= 6; count += 1) {
      const many = Array.from({ length: count }, (_, i) => {
        return plain[(i + count) % plain.length] as Policy
      })
      const { source } = scriptOf({ name: 'p', policies: many })
      expect(globalsOf(source).filter((name) => !ALLOWED.includes(name))).toEqual([])
      expect(source.includes('@')).toBe(false)
    }
  })

  test('a script holds just the kernels in use, and changes only on purpose', () => {
    const sets = [...policies.map((policy) => [policy]), plain.slice(0, 2)]
    const shas = sets.map((set) => {
      const { source, sha } = scriptOf(makePolicySet('p', set))
      return `${set.map(({ kernel }) => kernel?.id).join()} ${sha} ${source.length}`
    })
    expect(shas).toMatchSnapshot()
  })
})

test('a message with a code names the page that explains it: errors are made with withPage', () => {
  const made = sources.flatMap((file) => {
    const text = readFileSync(join(src, file), 'utf8')
    const calls = text.match(/Object\.assign\(\s*new \w*Error\([^;]*?code/g) ?? []
    return calls.filter((call) => !call.includes('withPage(')).map((call) => `${file}: ${call}`)
  })
  expect(made).toEqual([])
})

test('every code of an error or warning has a section in docs/errors.md, and each section has a code', () => {
  const errors = ['../../simulate/src/errors.ts']
  const texts = [...sources, ...errors]
    .map((file) => readFileSync(join(src, file), 'utf8'))
    .join('\n')
  const codes = new Set([...texts.matchAll(/'(WEIR_[A-Z_]+)'/g)].map((match) => match[1]))
  const docs = readFileSync(join(src, '../../../docs/errors.md'), 'utf8')
  const sections = [...docs.matchAll(/^## (WEIR_[A-Z_]+)$/gm)].map((match) => match[1])
  expect(sections.sort()).toEqual([...codes].sort())
})
