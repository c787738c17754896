// Writes a picture or, with `--check`, fails if the file differs.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * @param {string} name of the file in docs/images
 * @param {string} text the picture
 * @param {string} source what the picture shows, for the message: 'what the run shows'
 */
export function drawn(name, text, source) {
  const target = fileURLToPath(new URL(`../../docs/images/${name}`, import.meta.url))
  const before = existsSync(target) ? readFileSync(target, 'utf8') : ''
  if (before === text) return
  if (!process.argv.includes('--check')) return writeFileSync(target, text)
  console.error(`docs/images/${name} is not ${source}: draw it with this tool`)
  process.exitCode = 1
}
