// Where the links of a packed package lead. In the repository they are paths: in documents from
// where the document lies, in messages, types and alerts from the root, as `docs/errors.md#...`.
// In a package they are addresses of the repository's pages at that version; and while nobody has
// said where the repository is, they lead to the pages that the package holds.
import { posix } from 'node:path'
import { linksIn, relinked } from './markdown.mjs'
import { pageAt } from './where.mjs'

/** A page, named in code or configuration. */
const NAMED = /(?<![\w/.-])docs\/[\w/-]+\.md/g
const IMAGE = /\.(svg|png|jpe?g|gif)$/

/**
 * @typedef {object} Place where a package's links lead
 * @property {string | undefined} url of the repository
 * @property {string} version
 * @property {string} name of the package
 * @property {string} folder of the package, from the root
 * @property {ReadonlySet<string>} held the files that the package holds, as paths from the root
 * @property {(path: string) => boolean} isFolder of the repository
 */

/**
 * The pages that a text of code or configuration names.
 * @param {string} text
 * @returns {string[]}
 */
export function pagesNamedIn(text) {
  return [...new Set(text.match(NAMED) ?? [])]
}

/**
 * A text of code or configuration, whose pages can be opened by whoever reads it. While nobody has
 * said where the repository is, those that the package does not hold stay names.
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
 * A document, whose links lead somewhere from the package. What cannot be reached is not a link.
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
 * Where a file of the repository lies in the package.
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
 * @param {string} path of the document that has it
 */
function fileOf(target, path) {
  const [to = '', anchor] = target.split('#')
  const file = posix.join(posix.dirname(path), to).replace(/\/$/, '')
  return { file, anchor: anchor === undefined ? '' : `#${anchor}` }
}
