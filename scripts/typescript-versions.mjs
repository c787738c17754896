// Compiles the consumers with each TypeScript version that the packages support, as strictly as
// possible, and checks declarations as well (`skipLibCheck: false`). Frameworks and @types/node are
// the newest whose types the compiler can read; errors in those types are ignored. Needs a build.
//
//   node scripts/typescript-versions.mjs [--short] [a folder with tarballs, which are not packed]
//
// --short: only the oldest with Nest 11 and the newest with Nest 12, both as `nodenext`
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { packAll, packedIn } from '../tools/release/pack.mjs'
import { copyConsumers, frameworks } from './consumers.mjs'

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
const STRICT = {
  target: 'es2022',
  // Neither `esnext` nor `dom`, which an application need not have.
  lib: ['es2022'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  esModuleInterop: true,
  skipLibCheck: false,
  noEmit: true,
}

const root = fileURLToPath(new URL('..', import.meta.url))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { short: { type: 'boolean', default: false } },
})
const [given] = positionals
const chosen = values.short
  ? [
      { ...COMPILERS[0], passes: [asNodenext(PASSES[1])] },
      { ...COMPILERS.at(-1), passes: [asNodenext(PASSES[0])] },
    ]
  : COMPILERS.map((compiler) => ({ ...compiler, passes: PASSES }))
const work = mkdtempSync(join(tmpdir(), 'weir-typescript-'))

try {
  const packed = given === undefined ? packAll(root, work) : packedIn(root, resolve(given))
  const tarballs = packed.map(({ tarball }) => tarball)
  const wrong = chosen.flatMap((compiler) => errorsOf(compiler, tarballs))
  for (const line of wrong) console.error(line)
  process.exitCode = wrong.length === 0 ? 0 : 1
} finally {
  rmSync(work, { recursive: true, force: true })
}

function asNodenext(pass) {
  return { ...pass, ways: () => [NODENEXT] }
}

/** Errors in files of the packages or of the consumers. */
function errorsOf({ typescript, node, passes }, tarballs) {
  const folder = join(work, typescript)
  const files = consumersIn(folder)
  const types = [...TYPED, `typescript@${typescript}`, `@types/node@${node}`]
  const errors = passes.flatMap(({ nest, ways, takes }) => {
    const frameworks = [`@nestjs/common@${nest}`, `@nestjs/core@${nest}`]
    install(folder, [...tarballs, ...types, ...frameworks])
    return ways(Number.parseInt(typescript, 10)).flatMap((way) => {
      const title = `TypeScript ${typescript}, ${Object.values(way).join(', ')}, Nest ${nest}`
      return compile(folder, title, { ...STRICT, ...way }, files.filter(takes))
    })
  })
  rmSync(folder, { recursive: true, force: true })
  return errors
}

function install(folder, packages) {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...quiet, ...packages], { cwd: folder, stdio: 'pipe' })
}

function compile(folder, title, compilerOptions, files) {
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const tsc = join(folder, 'node_modules/typescript/bin/tsc')
  const { stdout, status } = spawnSync(process.execPath, [tsc], { cwd: folder, encoding: 'utf8' })
  const lines = stdout.split('\n').filter((line) => line.includes('error TS'))
  if (status !== 0 && lines.length === 0) throw new Error(`${title}: tsc failed: ${stdout}`)
  // An error about an option names no file.
  const ours = lines.filter((line) => !/^node_modules\/(?!@weir\/)/.test(line))
  const others = lines.length - ours.length
  const aside = others === 0 ? '' : `, and ${others} in types of others`
  console.log(`${title}: ${ours.length} errors${aside}`)
  return ours.map((line) => `${title}: ${line}`)
}

/** Copies the consumers into a folder, each as ESM and as CommonJS. */
function consumersIn(folder) {
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private": true}\n')
  return copyConsumers(folder, ['mts', 'cts'])
}
