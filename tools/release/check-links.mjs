// Checks that all links of a packed package lead into the package, or to an existing page of the
// repository. It looks only at the packed files, so it checks what has packed them. It does not
// request addresses of other sites.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { anchorsIn, linksIn } from './markdown.mjs'
import { filesIn } from './pack.mjs'

/** In code, the anchor of an error code is added where the message is made, so it is not seen. */
const ADDRESS = /https:\/\/github\.com\/(?:[\w/-]|\.(?=\w))+(?:#[\w-]+)?/g
const TEXT = /\.([cm]?js|d\.[cm]?ts|ya?ml|json)$/

/**
 * @param {string} folder where a package was unpacked
 * @param {string} root of the repository
 * @param {string | undefined} url of the repository
 * @returns {string[]} for each link that leads nowhere, the file and the link
 */
export function brokenLinks(folder, root, url) {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const own = new RegExp(`node_modules/${name}/(docs/[\\w/-]+\\.md(?:#[\\w-]+)?)`, 'g')
  const pages = new RegExp(`^${url}/(?:blob|tree|raw)/v${version}/`)

  /** @param {string} target relative to the folder of the package, or to the root */
  function leadsNowhere(/** @type {string} */ from, /** @type {string} */ target) {
    const [path = '', anchor] = target.split('#')
    const file = join(from, path)
    if (!existsSync(file)) return true
    if (anchor === undefined || statSync(file).isDirectory()) return false
    return file.endsWith('.md') && !anchorsIn(readFileSync(file, 'utf8')).has(anchor)
  }

  return filesIn(folder).flatMap((path) => {
    const text = readFileSync(join(folder, path), 'utf8')
    const inCode = TEXT.test(path)
    const targets = path.endsWith('.md') ? linksIn(text) : []
    const named = inCode ? [...text.matchAll(own)].map(([, page = '']) => page) : []
    const addresses = inCode ? (text.match(ADDRESS) ?? []) : []
    const broken = [
      ...targets.filter((target) => {
        if (target.startsWith('#')) return leadsNowhere(folder, path + target)
        if (pages.test(target)) return leadsNowhere(root, target.replace(pages, ''))
        if (/^[a-z]+:/.test(target)) return false
        return leadsNowhere(join(folder, dirname(path)), target)
      }),
      ...named.filter((page) => leadsNowhere(folder, page)),
      ...addresses
        .filter((address) => pages.test(address))
        .filter((address) => leadsNowhere(root, address.replace(pages, ''))),
    ]
    return broken.map((target) => `${path}: ${target}`)
  })
}
