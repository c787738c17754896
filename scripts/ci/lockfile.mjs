// Checks pnpm-lock.yaml: it names packages by version and hash only, without download addresses,
// and each of them keeps the policies on the age and the origin of releases. An installation trusts
// the file (`trustLockfile` in pnpm-workspace.yaml), so this is where the policies are checked.
// Asks the registry about each package, and downloads none.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../packages.mjs'
import { pnpmCommand } from '../pnpm.mjs'

const lines = readFileSync(join(root, 'pnpm-lock.yaml'), 'utf8').split('\n')
const named = lines.flatMap((line, i) => (line.includes('tarball:') ? [`${i + 1}: ${line}`] : []))
if (named.length > 0) {
  console.error(`pnpm-lock.yaml names download addresses; make it anew:\n${named.join('\n')}`)
  process.exitCode = 1
} else {
  const [pnpm, ...args] = pnpmCommand()
  const checked = [
    'install',
    '--lockfile-only',
    '--frozen-lockfile',
    '--config.trustLockfile=false',
  ]
  const { status } = spawnSync(pnpm, [...args, ...checked], { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
