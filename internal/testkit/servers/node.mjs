// Fetches other versions of Node. The npm packages node-<platform>-<arch> contain the binaries, so
// no other download is needed.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** @returns {string} the number of the newest version */
export function newestNode() {
  return execFileSync('npm', ['view', 'node', 'version'], { encoding: 'utf8' }).trim()
}

/**
 * @param {string} wanted such as '22.13.0'
 * @returns {string} the path of its binary
 */
export function nodeBinary(wanted) {
  const folder = join(root, '.cache', `node-${wanted}`)
  const name = `node-${process.platform}-${process.arch}`
  const binary = join(folder, 'node_modules', name, 'bin', 'node')
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true })
    const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', `${name}@${wanted}`]
    execFileSync('npm', args, { stdio: 'pipe' })
  }
  return binary
}
