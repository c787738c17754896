// The published packages: those of packages/ that are not private.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @typedef {object} Manifest the fields of a package.json that are read
 * @property {string} name
 * @property {string} version
 * @property {string} [description]
 * @property {string} [license]
 * @property {boolean} [private]
 * @property {unknown} [repository]
 * @property {Record<string, unknown>} [exports]
 * @property {Record<string, string>} [scripts]
 * @property {Record<string, string>} [engines]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, { optional?: boolean }>} [peerDependenciesMeta]
 * @property {{ access?: string, provenance?: boolean }} [publishConfig]
 */

/** @typedef {{ folder: string, manifest: Manifest }} Package `folder` is a path from the root */

/**
 * @param {string} root
 * @returns {Package[]}
 */
export function publishedPackages(root) {
  return readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}`)
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => ({ folder, manifest: manifestIn(join(root, folder)) }))
    .filter(({ manifest }) => manifest.private !== true)
}

/**
 * @param {string} folder
 * @returns {Manifest}
 */
export function manifestIn(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/**
 * The packages that adapt a framework's middlewares, by the names of their folders: those that have
 * a server for the suite of all adapters.
 * @param {string} root
 */
export function adaptersIn(root) {
  return publishedPackages(root).filter(({ folder }) =>
    existsSync(join(root, folder, 'test/behaviour.ts')),
  )
}
