// Packs the published packages as a release would, installs the tarballs in an empty folder, and
// uses them from CommonJS and ESM, and from TypeScript: the oldest with the types of the oldest
// majors of the frameworks, and the newest with the newest (typescript-versions.mjs has all). Then
// it compiles and starts the first program of each README, without a Redis. Needs a build.
//
//   node scripts/pack-smoke.mjs [a folder with tarballs to use instead]
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { packAll, packedIn } from '../tools/release/pack.mjs'
import { publishedPackages } from '../tools/release/packages.mjs'
import { copyConsumers, errorsOf, frameworks } from './consumers.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

// A package that npm packs could not be installed, so packing with npm is refused.
const byNpm = spawnSync('npm', ['pack', '--dry-run'], { cwd: join(root, 'packages/core') })
if (byNpm.status === 0) throw new Error('npm packs, but nothing could install it')

const compilerOptions = {
  target: 'es2023',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
}

const folder = mkdtempSync(join(tmpdir(), 'weir-pack-'))

try {
  const given = process.argv[2]
  const packed = given === undefined ? packAll(root, folder) : packedIn(root, resolve(given))
  const tarballs = packed.map(({ tarball }) => tarball)

  copyFileSync(join(root, 'scripts/consumer.cjs'), join(folder, 'consumer.cjs'))
  const files = copyConsumers(folder, ['mts', 'cts'])
  writeFileSync(
    join(folder, 'entries.json'),
    JSON.stringify(publishedPackages(root).flatMap(entriesOf)),
  )
  writeFileSync(join(folder, 'package.json'), '{"private": true}\n')
  const used = frameworks()
  const paths = Object.fromEntries(
    used.map(({ name, older }) => [name, [`./node_modules/${older.folder}`]]),
  )

  const others = [
    ...used.map(({ newest }) => newest),
    'express-rate-limit@8',
    '@nestjs/common@11',
    '@nestjs/core@11',
    '@opentelemetry/api@1.9',
    'reflect-metadata',
    'rxjs@7',
    'ioredis@6',
    // The program of a README needs them.
    ...['hono@4', '@hono/node-server@2'],
  ]
  const types = [
    ...['typescript@7.0.2', 'typescript-oldest@npm:typescript@5.4.5'],
    ...used.flatMap(({ types, older }) => [...types, older.install]),
    '@types/node@20',
  ]
  run(
    'npm',
    'install',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    ...tarballs,
    ...others,
    ...types,
  )
  run('node', 'consumer.cjs')
  run('node', 'consumer.cjs', 'import')
  const module = 'nodenext'
  const wrong = [
    ...errorsOf(folder, 'oldest TypeScript', { module, paths }, files, 'typescript-oldest'),
    ...errorsOf(folder, 'newest TypeScript', { module }, files),
  ]
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
  await startReadmes()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function run(command, ...args) {
  execFileSync(command, args, { cwd: folder, stdio: 'inherit' })
}

/** What an application imports of a package. */
function entriesOf({ manifest: { name, exports = {} } }) {
  const paths = Object.keys(exports).filter((path) => path !== './package.json')
  return paths.map((path) => name + path.slice(1))
}

async function startReadmes() {
  const names = publishedPackages(root).map(({ manifest }) => manifest.name)
  const readmes = names.map((name) => [name, join(folder, 'node_modules', name, 'README.md')])
  const files = [['weir', join(root, 'README.md')], ...readmes].map(([name, readme]) => {
    const text = readFileSync(readme, 'utf8')
    const program = /^```ts\n(import [\s\S]*?)^```$/m.exec(text)?.[1]
    if (program === undefined) throw new Error(`the README of ${name} has no program`)
    const file = `readme-${name.replace('@weir/', '')}.mts`
    // Nobody listens on port 1, and each program on a port of its own.
    const own = program.replaceAll('localhost:6379', '127.0.0.1:1').replaceAll('3000', '0')
    writeFileSync(join(folder, file), own)
    return file
  })
  const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true }
  const emit = { noEmit: false, outDir: 'readmes', rootDir: '.', module: 'nodenext' }
  const options = { ...compilerOptions, ...decorators, ...emit }
  writeFileSync(join(folder, 'readmes.json'), JSON.stringify({ compilerOptions: options, files }))
  run('node', join('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'readmes.json')
  const starter = join(folder, 'start.mjs')
  const leaves = 'setTimeout(() => process.exit(), 1_000)'
  writeFileSync(starter, `await import(process.argv[2])\n${leaves}\n`)
  const start = promisify(execFile)
  const starts = files.map((file) => {
    const program = join(folder, 'readmes', file.replace('.mts', '.mjs'))
    // The output is about a Redis that cannot be reached.
    return start('node', [starter, pathToFileURL(program).href], { cwd: folder })
  })
  await Promise.all(starts)
  console.log(`programs of READMEs: ${files.length} started`)
}
