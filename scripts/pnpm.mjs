// Finds pnpm: the one on PATH if it has the pinned major version, else npx with the pinned version.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const pinned = manifest.devEngines.packageManager.version

/** @returns {string[]} the command and its first arguments */
export function pnpmCommand() {
  const { stdout } = spawnSync('pnpm', ['--version'], {
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (stdout && major(stdout) === major(pinned)) return ['pnpm']
  return ['npx', '--yes', `pnpm@${pinned}`]
}

/** @param {string} version */
function major(version) {
  return version.trim().split('.')[0]
}
