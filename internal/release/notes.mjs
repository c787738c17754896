// What the changelogs say of one version, and how it is said where all packages are released.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withLinks } from './links.mjs'
import { publishedPackages } from './packages.mjs'

/**
 * What a changelog says of one version.
 * @param {string} changelog
 * @param {string} version
 * @returns {string}
 */
export function notesOf(changelog, version) {
  const section = `\n${changelog}`.split('\n## ').find((part) => part.startsWith(`${version}\n`))
  if (section === undefined) throw new Error(`the changelog says nothing of ${version}`)
  return section.slice(version.length).trim()
}

/**
 * What all changelogs say of one version: that of core, and of each other package what no one
 * before it says. Most changesets name several packages.
 * @param {string} root
 * @param {string} version
 * @param {string | undefined} url of the repository, where links lead to the pages of that version;
 *   undefined: links become their text
 * @returns {string}
 */
export function notesOfAll(root, version, url) {
  const isFolder = (/** @type {string} */ path) =>
    existsSync(join(root, path)) && statSync(join(root, path)).isDirectory()
  const said = new Set()
  const isCore = (/** @type {import('./packages.mjs').Package} */ { folder }) =>
    folder === 'packages/core'
  const packages = publishedPackages(root)
  // What all of them say is said of core.
  const inOrder = [...packages.filter(isCore), ...packages.filter((each) => !isCore(each))]
  const sections = inOrder.map(({ folder, manifest: { name } }) => {
    const path = `${folder}/CHANGELOG.md`
    const place = { url, version, name, folder, held: new Set(), isFolder }
    const text = notesOf(withLinks(readFileSync(join(root, path), 'utf8'), path, place), version)
    const entries = entriesOf(text).filter((entry) => !said.has(entry))
    for (const entry of entries) said.add(entry)
    return entries.length === 0 ? '' : `## ${name}\n\n${entries.join('\n\n')}\n`
  })
  return sections.filter((section) => section !== '').join('\n')
}

/**
 * The entries of a section, without what each package says of the others' versions.
 * @param {string} section
 * @returns {string[]}
 */
function entriesOf(section) {
  return section
    .split(/^(?=- |#)/m)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '' && !/^#|^- Goes with @weir\/\S+ \S+\.$/.test(entry))
}
