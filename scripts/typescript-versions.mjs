// Compiles the consumers with each TypeScript version that the packages support. Frameworks and
// @types/node are the newest whose types the compiler can read. Needs a build. For each change,
// pack-smoke.mjs compiles them with the oldest and the newest.
//
//   node scripts/typescript-versions.mjs
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packAll } from '../tools/release/pack.mjs'
import { copyConsumers, errorsOf, frameworks } from './consumers.mjs'

/** 25.9.2 is the last of @types/node for compilers before 5.6. */
const COMPILERS = [
  { typescript: '5.4.5', node: '25.9.2' },
  { typescript: '5.5.4', node: '25.9.2' },
  { typescript: '5.6.3', node: '26.6.6' },
  { typescript: '5.7.3', node: '26.6.6' },
  { typescript: '5.8.3', node: '26.6.6' },
  { typescript: '5.9.3', node: '26.6.6' },
  { typescript: '6.0.3', node: '26.6.6' },
  { typescript: '7.0.2', node: '26.6.6' },
]
const TYPED = [
  ...frameworks().flatMap(({ types, newest }) => (types.length > 0 ? types : newest)),
  '@opentelemetry/api@1.9',
  'ioredis@6',
  'reflect-metadata@0.2',
  'rxjs@7',
]
/** Ways in which a compiler finds the types of a package. */
const NODENEXT = { module: 'nodenext' }
const NODE16 = { module: 'node16' }
const NODE20 = { module: 'node20' }
const BUNDLER = { module: 'esnext', moduleResolution: 'bundler' }
const NODE10 = { module: 'commonjs', moduleResolution: 'node10' }
/** Nest 12 is ESM only, so the applications that use it are compiled as ESM only. */
const PASSES = [
  {
    nest: 12,
    ways: (major) => [NODENEXT, major < 6 ? NODE16 : NODE20, BUNDLER],
    takes: (file) => file !== 'nest.cts',
  },
  {
    nest: 11,
    // TypeScript 6 deprecates `node10`, and 7 has removed it.
    ways: (major) =>
      major < 6 ? [NODENEXT, NODE16, BUNDLER, NODE10] : [NODENEXT, NODE20, BUNDLER],
    takes: (file) => file !== 'nest.mts',
  },
]

const root = fileURLToPath(new URL('..', import.meta.url))
const work = mkdtempSync(join(tmpdir(), 'weir-typescript-'))

try {
  const tarballs = packAll(root, work).map(({ tarball }) => tarball)
  const wrong = COMPILERS.flatMap((compiler) => errorsWith(compiler, tarballs))
  for (const line of wrong) console.error(line)
  process.exitCode = wrong.length === 0 ? 0 : 1
} finally {
  rmSync(work, { recursive: true, force: true })
}

function errorsWith({ typescript, node }, tarballs) {
  const folder = join(work, typescript)
  const files = consumersIn(folder)
  const types = [...TYPED, `typescript@${typescript}`, `@types/node@${node}`]
  const errors = PASSES.flatMap(({ nest, ways, takes }) => {
    const frameworks = [`@nestjs/common@${nest}`, `@nestjs/core@${nest}`]
    install(folder, [...tarballs, ...types, ...frameworks])
    return ways(Number.parseInt(typescript, 10)).flatMap((way) => {
      const title = `TypeScript ${typescript}, ${Object.values(way).join(', ')}, Nest ${nest}`
      return errorsOf(folder, title, way, files.filter(takes))
    })
  })
  rmSync(folder, { recursive: true, force: true })
  return errors
}

function install(folder, packages) {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...quiet, ...packages], { cwd: folder, stdio: 'pipe' })
}

/** Copies the consumers into a folder, each as ESM and as CommonJS. */
function consumersIn(folder) {
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private": true}\n')
  return copyConsumers(folder, ['mts', 'cts'])
}
