// Checks the package in the current folder as it would be published: its types as every kind of
// importer resolves them, and its package.json. Needs a build.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pnpmCommand } from '../scripts/pnpm.mjs'

const folder = mkdtempSync(join(tmpdir(), 'weir-check-'))
try {
  const [pnpm, ...args] = pnpmCommand()
  execFileSync(pnpm, [...args, 'pack', '--pack-destination', folder])
  const [name] = readdirSync(folder)
  const tarball = join(folder, name)
  execFileSync('attw', [tarball], { stdio: 'inherit' })
  execFileSync('publint', [tarball, '--strict'], { stdio: 'inherit' })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
