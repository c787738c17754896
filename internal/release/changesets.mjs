// Changesets, read as far as a release asks: which packages they name.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gitLines } from './git.mjs'

const HEAD = /^---\n(.*?)^---$/ms

/**
 * The changesets that no release has had yet.
 * @param {string} root
 * @returns {string[]} their paths from the root
 */
export function pendingChangesets(root) {
  return readdirSync(join(root, '.changeset'))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => `.changeset/${name}`)
}

/**
 * The packages that were named since a commit, by changesets that are pending.
 * @param {string} root
 * @param {string} base
 * @returns {Set<string>}
 */
export function namedSince(root, base) {
  const changed = gitLines(root, 'diff', '--name-only', base, 'HEAD', '--', '.changeset')
  const pending = pendingChangesets(root).filter((path) => changed.includes(path))
  const names = pending.flatMap((path) => {
    const [, head = ''] = HEAD.exec(readFileSync(join(root, path), 'utf8')) ?? []
    return [...head.matchAll(/^["']?([^"':]+)["']?:/gm)].map(([, name = '']) => name)
  })
  return new Set(names)
}
