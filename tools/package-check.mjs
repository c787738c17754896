// Checks the package in the current folder in its published form: its types as each kind of
// importer resolves them, its package.json, and its size. Needs a build.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packPackage } from '../internal/release/pack.mjs'
import { manifestIn } from '../internal/release/packages.mjs'
import { judgeSize, sizeOf } from './package-size.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const pack = { folder: relative(root, process.cwd()), manifest: manifestIn(process.cwd()) }
const folder = mkdtempSync(join(tmpdir(), 'weir-check-'))
try {
  const tarball = packPackage(root, pack, folder)
  execFileSync('attw', [tarball], { stdio: 'inherit' })
  execFileSync('publint', [tarball, '--strict'], { stdio: 'inherit' })
  console.log(judgeSize(pack.manifest.name, sizeOf(tarball)))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
