// Packs the published packages as a release would, installs the tarballs in an empty folder, and
// uses them from CommonJS, from ESM and from TypeScript. Needs a build.
//
//   node scripts/pack-smoke.mjs [a folder with tarballs, which are used instead]
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packPackage } from '../internal/release/pack.mjs'
import { publishedPackages } from '../internal/release/packages.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const consumers = fileURLToPath(new URL('consumers/', import.meta.url))

// npm would pack what cannot be installed, so it is refused.
const byNpm = spawnSync('npm', ['pack', '--dry-run'], { cwd: join(root, 'packages/core') })
if (byNpm.status === 0) throw new Error('npm packs, but nothing could install it')

const folder = mkdtempSync(join(tmpdir(), 'weir-pack-'))

try {
  const given = process.argv[2]
  if (given === undefined)
    for (const pack of publishedPackages(root)) packPackage(root, pack, folder)
  const from = given === undefined ? folder : resolve(given)
  const tarballs = readdirSync(from).filter((file) => file.endsWith('.tgz'))
  console.log(`tarballs: ${tarballs.join(', ')}`)

  for (const file of readdirSync(consumers)) copyFileSync(join(consumers, file), join(folder, file))
  const typed = readdirSync(consumers).filter((file) => file.endsWith('.mts'))
  for (const file of typed)
    copyFileSync(join(consumers, file), join(folder, file.replace('.mts', '.cts')))
  writeFileSync(join(folder, 'package.json'), '{"private": true}\n')
  for (const module of ['nodenext', 'node20'])
    writeFileSync(join(folder, `${module}.json`), tsconfig(typed, { module }))
  const bundler = { module: 'esnext', moduleResolution: 'bundler' }
  writeFileSync(join(folder, 'bundler.json'), tsconfig(typed, bundler))
  const express4 = { module: 'nodenext', paths: { express: ['./node_modules/express4-types'] } }
  writeFileSync(join(folder, 'express4.json'), tsconfig(['express.mts'], express4))

  const others = [
    'express@5',
    'koa@3',
    '@nestjs/common@11',
    '@nestjs/core@11',
    '@opentelemetry/api@1.9',
    'reflect-metadata',
    'rxjs@7',
    'ioredis@6',
  ]
  const types = [
    'typescript@7.0.2',
    '@types/express@5',
    'express4-types@npm:@types/express@4',
    '@types/koa@3',
    '@types/node@20',
  ]
  run(
    'npm',
    'install',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    ...tarballs.map((file) => join(from, file)),
    ...others,
    ...types,
  )
  run('node', 'consumer.cjs')
  run('node', 'consumer.mjs')
  for (const project of ['nodenext', 'node20', 'bundler', 'express4']) {
    run('node', join('node_modules', 'typescript', 'bin', 'tsc'), '-p', `${project}.json`)
    console.log(`TypeScript consumer, ${project}: ok`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function run(command, ...args) {
  execFileSync(command, args, { cwd: folder, stdio: 'inherit' })
}

/** A project of these files, and of their copies that are CommonJS. */
function tsconfig(files, options) {
  return JSON.stringify({
    compilerOptions: {
      target: 'es2023',
      types: ['node'],
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      ...options,
    },
    files: files.flatMap((file) => [file, file.replace('.mts', '.cts')]),
  })
}
