// Rules of the source tree: imports run one way, the core runs in a browser, the Lua is Lua 5.1
// without globals, and every code has its section in the docs.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parse } from 'luaparse'
import { build } from 'vite'
import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  gcra,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '../src/index.js'
import { scriptOf } from '../src/redis/transport/script.js'
import { makePolicySet } from '../src/store.js'

// What is still wrong: each list must be empty at the end.
const KNOWN_ARROWS: string[] = [
  'layers/across-slots.ts -> limiter/decision.ts',
  'layers/across-slots.ts -> redis/transport/hash-slot.ts',
  'layers/across-slots.ts -> redis/transport/keys.ts',
  'layers/deny-cache.ts -> limiter/decision.ts',
  'layers/leases.ts -> redis/transport/batching.ts',
  'layers/leases.ts -> redis/transport/script-call.ts',
  'layers/resilience/data-loss.ts -> redis/desks.ts',
  'layers/resilience/data-loss.ts -> redis/transport/batching.ts',
  'layers/resilience/fallback.ts -> limiter/decision.ts',
  'layers/resilience/peers.ts -> redis/client/send.ts',
  'layers/resilience/peers.ts -> redis/transport/script-call.ts',
  'layers/resilience/recovery.ts -> redis/transport/keys.ts',
  'layers/resilience/recovery.ts -> redis/transport/nodes.ts',
  'layers/resilience/recovery.ts -> redis/transport/script-call.ts',
  'layers/resilience/unavailable.ts -> limiter/decision.ts',
  'store.ts -> limiter/decision.ts',
]
const KNOWN_CIRCLES: string[] = [
  'limiter/decision.ts, store.ts',
  'redis/client/send.ts, redis/transport/script-call.ts',
  'redis/compose.ts, redis/store.ts',
]
const KNOWN_NAMES: string[] = ['http/response/header-item.ts', 'layers/resilience/last-seen.ts']
const KNOWN_NODE_MODULES: string[] = ['"node:crypto"', '__vite-browser-external']

const src = resolve(import.meta.dirname, '../src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
  (file) => !file.includes('generated'),
)
const sources = files.filter((file) => file.endsWith('.ts'))

/** The files that each file names, also where only types are meant. */
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

/** From the ground up: a file may import from its own room and from those before it. */
const ROOMS: RegExp[] = [
  /^base\//,
  /^algorithms\//,
  /^store\.ts$/,
  /^memory\//,
  /^layers\//,
  /^redis\//,
  /^limiter\//,
  /^http\//,
  /^testing\//,
  /^index\.ts$/,
]
/** Rooms side by side, which know nothing of each other. */
const BESIDE = [['http', 'testing']]

describe('imports', () => {
  const roomOf = (file: string) => ROOMS.findIndex((room) => room.test(file))
  const areBeside = (...files: string[]) => {
    const names = files.map((file) => file.split('/')[0])
    return BESIDE.some((beside) => beside.every((room) => names.includes(room)))
  }

  test('every file belongs to a room', () => {
    expect(sources.filter((file) => roomOf(file) < 0)).toEqual([])
  })

  test('run one way', () => {
    const wrong = sources.flatMap((file) =>
      importsOf(file)
        .filter((imported) => roomOf(imported) > roomOf(file) || areBeside(file, imported))
        .map((imported) => `${file} -> ${imported}`),
    )
    expect([...new Set(wrong)].sort()).toEqual(KNOWN_ARROWS)
  })

  test('make no circle, not even of types', () => {
    expect(circlesOf(sources)).toEqual(KNOWN_CIRCLES)
  })
})

/** Groups of files that reach each other by imports. */
function circlesOf(files: readonly string[]): string[] {
  const reach = new Map<string, Set<string>>()
  for (const file of files) {
    const reached = new Set<string>()
    const open = [file]
    for (let from = open.pop(); from !== undefined; from = open.pop()) {
      for (const imported of importsOf(from).filter((each) => !reached.has(each))) {
        reached.add(imported)
        open.push(imported)
      }
    }
    reach.set(file, reached)
  }
  const meet = (a: string, b: string) => reach.get(a)?.has(b) && reach.get(b)?.has(a)
  const circles = files
    .filter((file) => meet(file, file))
    .map((file) => files.filter((other) => meet(file, other)))
    .map((circle) => circle.sort().join(', '))
  return [...new Set(circles)].sort()
}

test('nothing outside algorithms/ looks for an algorithm by its name: see its traits', () => {
  const [limit, window] = [1, '1m'] as const
  const names = [
    ...[tokenBucket({ capacity: 1, refill: 1, every: window }), gcra({ limit, period: window })],
    ...[leakyBucket({ capacity: 1, leak: 1, every: window }), fixedWindow({ limit, window })],
    ...[slidingLog({ limit, window }), slidingWindow({ limit, window })],
    ...[slidingCounter({ limit, window }), unlimited()],
  ].map(({ algorithm }) => algorithm)
  const literal = new RegExp(`'(?:${names.join('|')})'`)
  const looking = sources
    .filter((file) => !file.startsWith('algorithms/'))
    .filter((file) => {
      const text = readFileSync(join(src, file), 'utf8')
      return literal.test(text) || /\balgorithm [!=]==/.test(text)
    })
  expect(looking.sort()).toEqual(KNOWN_NAMES)
})

test('policies, memory store, layers and limiter run without node: modules', async () => {
  const rooms = /^(base|algorithms|memory|layers|limiter)\/|^store\.ts$/
  const result = await build({
    logLevel: 'silent',
    build: {
      write: false,
      lib: {
        entry: sources.filter((file) => rooms.test(file)).map((file) => join(src, file)),
        formats: ['es'],
      },
    },
  })
  const outputs = (Array.isArray(result) ? result : [result]) as { output: { code?: string }[] }[]
  const code = outputs.flatMap(({ output }) => output.map((chunk) => chunk.code ?? '')).join('\n')
  expect(code).toContain('decide')
  const nodeModules = code.match(/["']node:[\w/]+["']|__vite-browser-external/g) ?? []
  expect([...new Set(nodeModules)].sort()).toEqual(KNOWN_NODE_MODULES)
})

describe('Lua', () => {
  const ALLOWED = new Set([
    'redis',
    'KEYS',
    'ARGV',
    'cmsgpack',
    'math',
    'string',
    'tonumber',
    'type',
    // What stands above the rest of a script.
    'kernels',
    'mode',
    'us',
    'slack',
  ])
  /** What sliding-log/entries.lua sets. */
  const OF_LOGS = new Set(['call', 'floor', 'entry', 'seek', 'MAX_UNITS', 'ROUND'])

  test.each(files.filter((file) => file.endsWith('.lua')))(
    '%s is Lua 5.1, writes no global and reads only known ones',
    (file) => {
      const ast = parse(readFileSync(join(src, file), 'utf8'), {
        luaVersion: '5.1',
        scope: true,
      }) as unknown as {
        globals: { name: string }[]
      }
      const isKnown = (name: string) =>
        ALLOWED.has(name) || (file.includes('sliding-log') && OF_LOGS.has(name))
      expect(ast.globals.map(({ name }) => name).filter((name) => !isKnown(name))).toEqual([])
    },
  )

  test('a script holds just the kernels in use, and changes only on purpose', () => {
    const window = '1m'
    const shas = [
      [tokenBucket({ capacity: 1, refill: 1, every: window })],
      [fixedWindow({ limit: 1, window })],
      [slidingLog({ limit: 1, window })],
      [slidingCounter({ limit: 1, window })],
      [tokenBucket({ capacity: 1, refill: 1, every: window }), fixedWindow({ limit: 1, window })],
    ].map((policies) => {
      const { source, sha } = scriptOf(makePolicySet('p', policies))
      return `${policies.map(({ kernel }) => kernel?.id).join()} ${sha} ${source.length}`
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
