// Reads of changesets what a release needs: which packages they name.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileAt, gitLines } from './git.mjs'

const HEAD = /^---\n(.*?)^---$/ms

/**
 * The changesets that are not released yet.
 * @param {string} root
 * @returns {string[]} their paths from the root
 */
export function pendingChangesets(root) {
  return readdirSync(join(root, '.changeset'))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => `.changeset/${name}`)
}

/**
 * The packages that changesets have named since a commit: pending changesets, and those that have
 * become a version since.
 * @param {string} root
 * @param {string} base
 * @param {string} versioned the file with the version of all packages
 * @returns {Set<string>}
 */
export function namedSince(root, base, versioned) {
  const raises = gitLines(
    root,
    'log',
    '--format=%H',
    '-G"version":',
    `${base}..HEAD`,
    '--',
    versioned,
  )
  const trees = ['HEAD', ...raises.map((commit) => `${commit}^`)]
  return new Set(trees.flatMap((tree) => namedIn(root, base, tree)))
}

/**
 * The packages that the changesets of a commit name, unless the changeset was already in the base.
 * @param {string} root
 * @param {string} base
 * @param {string} tree
 * @returns {string[]}
 */
function namedIn(root, base, tree) {
  const since = ['--name-only', '--diff-filter=d', base, tree, '--', '.changeset/*.md']
  return gitLines(root, 'diff', ...since).flatMap((path) => {
    const [, head = ''] = HEAD.exec(fileAt(root, tree, path) ?? '') ?? []
    return [...head.matchAll(/^["']?([^"':]+)["']?:/gm)].map(([, name = '']) => name)
  })
}
