// Checks the package in the current folder as it would be published: its types as every kind of
// importer resolves them, its package.json, and its size. Needs a build.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pnpmCommand } from '../scripts/pnpm.mjs'
import { judgeSize, sizeOf } from './package-size.mjs'

const folder = mkdtempSync(join(tmpdir(), 'weir-check-'))
try {
  const [pnpm, ...args] = pnpmCommand()
  execFileSync(pnpm, [...args, 'pack', '--pack-destination', folder])
  const [file] = readdirSync(folder)
  const tarball = join(folder, file)
  execFileSync('attw', [tarball], { stdio: 'inherit' })
  execFileSync('publint', [tarball, '--strict'], { stdio: 'inherit' })
  const { name } = JSON.parse(readFileSync('package.json', 'utf8'))
  console.log(judgeSize(name, sizeOf(tarball)))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
