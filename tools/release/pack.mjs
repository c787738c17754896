// Packs the published packages: what pnpm packs, together with its licence, its changelog and the
// pages that its messages name; with links that lead somewhere, and with its origin.
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pnpmCommand } from '../../scripts/pnpm.mjs'
import { inPackage, pagesNamedIn, withLinks, withPages } from './links.mjs'
import { manifestIn, publishedPackages } from './packages.mjs'
import { originOf, whereItLives } from './where.mjs'

/** Files besides documents that users and their tools read: messages, types, alerts, the board. */
const READ = /^(dist|alerts|dashboards)\/.*\.([cm]?js|d\.[cm]?ts|ya?ml|json)$/
/** Files that name pages for people who may have no browser open: the package contains the
 *  pages. */
const SPEAKS = /(?<!\.d)\.([cm]?js|ya?ml|json)$/
const DOCUMENTS = ['README.md', 'CHANGELOG.md']

/** @typedef {import('./packages.mjs').Package & { tarball: string }} Packed with its path */

/**
 * Packs all published packages, which must be built, with one process of each tool.
 * @param {string} root
 * @param {string} destination a folder
 * @param {{ url: string | undefined }} place the address of the repository, or undefined if it is
 *   unknown. Default: the address in the root package
 * @returns {Packed[]}
 */
export function packAll(root, destination, place = placeOf(root)) {
  const packages = publishedPackages(root)
  const work = mkdtempSync(join(tmpdir(), 'weir-pack-'))
  try {
    const [pnpm = 'pnpm', ...args] = pnpmCommand()
    /** @type {import('node:child_process').StdioOptions} */
    const stdio = ['ignore', 'ignore', 'inherit']
    const filters = packages.map(({ manifest }) => `--filter=${manifest.name}`)
    execFileSync(pnpm, [...args, ...filters, 'pack', '--pack-destination', work], {
      cwd: root,
      stdio,
    })
    const folders = packages.map((pack) => {
      const unpacked = join(work, pack.folder)
      mkdirSync(unpacked, { recursive: true })
      execFileSync('tar', ['-xzf', join(work, tarballOf(pack)), '-C', unpacked])
      const folder = join(unpacked, 'package')
      complete(root, pack.folder, folder, place.url)
      return folder
    })
    mkdirSync(destination, { recursive: true })
    const npm = ['pack', '--loglevel=error', '--ignore-scripts', '--pack-destination', destination]
    execFileSync('npm', [...npm, ...folders], { cwd: work, stdio })
    return packedIn(root, destination)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/**
 * @param {string} root
 * @param {string} folder where they were packed before
 * @returns {Packed[]}
 */
export function packedIn(root, folder) {
  return publishedPackages(root).map((pack) => ({
    ...pack,
    tarball: join(folder, tarballOf(pack)),
  }))
}

/** @param {import('./packages.mjs').Package} pack */
function tarballOf({ manifest: { name, version } }) {
  return `${name.slice(1).replace('/', '-')}-${version}.tgz`
}

/** @param {string} root */
function placeOf(root) {
  return { url: whereItLives(manifestIn(root)) }
}

/**
 * Turns what pnpm has packed into a complete package.
 * @param {string} root
 * @param {string} folder of the package, from the root
 * @param {string} to the folder with its files
 * @param {string | undefined} url
 */
function complete(root, folder, to, url) {
  const all = /** @type {any} */ (manifestIn(to))
  const { devDependencies: _, files: __, scripts: ___, ...manifest } = all
  const own = { ...manifest, ...(url !== undefined && originOf(url, folder)) }
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(own, null, 2)}\n`)

  const read = filesIn(to).filter((path) => READ.test(path))
  const pagesOf = (/** @type {string} */ path) => pagesNamedIn(readFileSync(join(to, path), 'utf8'))
  const pages = new Set(read.filter((path) => SPEAKS.test(path)).flatMap(pagesOf))
  for (const page of read.flatMap(pagesOf)) {
    if (!existsSync(join(root, page)))
      throw new Error(`${folder} names ${page}, which is not there: name another page, or write it`)
  }
  const documents = DOCUMENTS.map((name) => `${folder}/${name}`).filter((path) => {
    return existsSync(join(root, path))
  })
  const held = new Set([...documents, ...pages, 'LICENSE'])
  const isFolder = (/** @type {string} */ path) =>
    existsSync(join(root, path)) && statSync(join(root, path)).isDirectory()
  const place = { url, version: manifest.version, name: manifest.name, folder, held, isFolder }

  for (const path of read) {
    const text = readFileSync(join(to, path), 'utf8')
    const linked = withPages(text, place)
    if (linked !== text) writeFileSync(join(to, path), linked)
  }
  for (const path of [...documents, ...pages]) {
    const text = readFileSync(join(root, path), 'utf8')
    const target = join(to, inPackage(path, place))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, withLinks(text, path, place))
  }
  cpSync(join(root, 'LICENSE'), join(to, 'LICENSE'))
}

/**
 * @param {string} folder
 * @returns {string[]} paths relative to that folder, with slashes
 */
export function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort()
}
