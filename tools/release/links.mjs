// Where the links of a packed package lead. In the repository they are paths: in documents relative
// to the document; in messages, types and alerts relative to the root, such as
// `docs/errors.md#...`. In a package they are URLs of the repository's pages at that version. While
// the address of the repository is unknown, they lead to the pages in the package.
import { posix } from 'node:path'
import { linksIn, relinked } from './markdown.mjs'
import { pageAt } from './where.mjs'

/** A page that code or configuration names. */
const NAMED = /(?<![\w/.-])docs\/[\w/-]+\.md/g
const IMAGE = /\.(svg|png|jpe?g|gif)$/

/**
 * @typedef {object} Place where a package's links lead
 * @property {string | undefined} url of the repository
 * @property {string} version
 * @property {string} name of the package
 * @property {string} folder of the package, from the root
 * @property {ReadonlySet<string>} held the files in the package, as paths from the root
 * @property {(path: string) => boolean} isFolder of the repository
 */

/**
 * The pages that code or configuration names.
 * @param {string} text
 * @returns {string[]}
 */
export function pagesNamedIn(text) {
  return [...new Set(text.match(NAMED) ?? [])]
}

/**
 * Code or configuration in which the names of pages are addresses that readers can open. While the
 * address of the repository is unknown, pages that are not in the package stay names.
 * @param {string} text
 * @param {Place} place
 */
export function withPages(text, { url, version, name, held }) {
  return text.replace(NAMED, (page) => {
    if (url !== undefined) return pageAt(url, version, page)
    return held.has(page) ? `node_modules/${name}/${page}` : page
  })
}

/**
 * A document whose links lead somewhere from the package. A link that cannot lead anywhere becomes
 * text.
 * @param {string} text
 * @param {string} path of the document, from the root of the repository
 * @param {Place} place
 */
export function withLinks(text, path, place) {
  return relinked(text, (target) => {
    if (isElsewhere(target)) return target
    const { file, anchor } = fileOf(target, path)
    if (place.url !== undefined) {
      const kind = place.isFolder(file) ? 'tree' : IMAGE.test(file) ? 'raw' : 'blob'
      return pageAt(place.url, place.version, `${file}${anchor}`, kind)
    }
    if (!place.held.has(file)) return undefined
    const from = posix.dirname(inPackage(path, place))
    return `${posix.relative(from, inPackage(file, place))}${anchor}`
  })
}

/**
 * The place of a file of the repository in the package.
 * @param {string} path
 * @param {{ folder: string }} place
 */
export function inPackage(path, { folder }) {
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path
}

/**
 * The files of the repository that a document links to.
 * @param {string} text
 * @param {string} path
 */
export function filesLinkedIn(text, path) {
  return linksIn(text)
    .filter((target) => !isElsewhere(target))
    .map((target) => fileOf(target, path))
}

/** @param {string} target */
function isElsewhere(target) {
  return /^([a-z]+:|#)/.test(target)
}

/**
 * @param {string} target
 * @param {string} path of the document with the link
 */
function fileOf(target, path) {
  const [to = '', anchor] = target.split('#')
  const file = posix.join(posix.dirname(path), to).replace(/\/$/, '')
  return { file, anchor: anchor === undefined ? '' : `#${anchor}` }
}
