// Builds the package in the current folder.
//
//   node ../../tools/build.mjs                        writes a file for each source into dist
//   node ../../tools/build.mjs index http=http/index  bundles these entries of src into dist
//
// TypeScript's compiler checks the sources and writes declarations. `npm start` and `npm test` need
// neither: with WEIR_BUILD=javascript, the bundler alone writes the same JavaScript, in a tenth of
// the time. What is built from the same inputs already is left alone, since others may be reading
// it.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle, translate } from './bundle/bundle.mjs'

const entries = process.argv.slice(2).map((entry) => {
  const [name, source = name] = entry.split('=')
  return [name, source]
})
const isWhole = process.env.WEIR_BUILD !== 'javascript'
const { compilerOptions } = JSON.parse(readFileSync('tsconfig.build.json', 'utf8'))

const NOTE = 'build/built.json'
const SKIPPED =
  /^(node_modules|docs|release|stryker|package\.json|vitest\.config\.js)$|\.generated\.ts$/
// A package that is compiled from the root is compiled together with core's sources.
const foreign = compilerOptions.rootDir === '../..' ? ['packages/core/src'] : []
const inputs = hashOf(
  ['src', 'package.json', 'tsconfig.build.json'],
  ['tsconfig.base.json', 'tools', ...foreign],
)
if (!isBuilt()) process.exitCode = await build()

async function build() {
  for (const folder of ['build', 'dist']) rmSync(folder, { recursive: true, force: true })
  const code = isWhole ? await tsc('-p', 'tsconfig.build.json') : 0
  if (code !== 0) return code
  if (entries.length > 0) {
    await bundle(entries)
    if (isWhole) {
      const { bundleTypes } = await import('./bundle/types.mjs')
      await bundleTypes(entries)
    }
  } else if (!isWhole) await translate(compilerOptions)
  mkdirSync('build', { recursive: true })
  writeFileSync(NOTE, JSON.stringify({ inputs, isWhole }))
  return 0
}

function isBuilt() {
  if (!existsSync(NOTE) || !existsSync('dist')) return false
  const built = JSON.parse(readFileSync(NOTE, 'utf8'))
  return built.inputs === inputs && (built.isWhole || !isWhole)
}

/**
 * @param {string[]} own files and folders of the package
 * @param {string[]} shared of the root
 */
function hashOf(own, shared) {
  const hash = createHash('sha256')
  for (const path of [...own, ...shared.map((each) => join('..', '..', each))]) hashAll(hash, path)
  return hash.digest('hex')
}

/** Without what tools write, what is installed, and tools that build nothing: as in turbo.json, or
 *  a build from turbo's cache would count as another one, and lose its declarations. */
function hashAll(hash, path) {
  if (!statSync(path).isDirectory()) return hash.update(path).update(readFileSync(path))
  for (const name of readdirSync(path).sort())
    if (!SKIPPED.test(name)) hashAll(hash, join(path, name))
}

function tsc(...args) {
  const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
  const child = spawn(process.execPath, [compiler, ...args], { stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}
