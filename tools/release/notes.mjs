// The changelog entries of one version, and the notes of a release of all packages.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withLinks } from './links.mjs'
import { publishedPackages } from './packages.mjs'

/**
 * The entries of one version in a changelog.
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
 * The entries of one version in all changelogs: those of core, and those of each other package that
 * no earlier one has. Most changesets name several packages.
 * @param {string} root
 * @param {string} version
 * @param {string | undefined} url of the repository; links lead to the pages of that version. If
 *   undefined, links become their text
 * @returns {string}
 */
export function notesOfAll(root, version, url) {
  const isFolder = (/** @type {string} */ path) =>
    existsSync(join(root, path)) && statSync(join(root, path)).isDirectory()
  const said = new Set()
  const isCore = (/** @type {import('./packages.mjs').Package} */ { folder }) =>
    folder === 'packages/core'
  const packages = publishedPackages(root)
  // Entries of all packages appear with core.
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
 * The entries of a section, without those about versions of dependencies.
 * @param {string} section
 * @returns {string[]}
 */
function entriesOf(section) {
  return section
    .split(/^(?=- |#)/m)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '' && !/^#|^- Goes with @weir\/\S+ \S+\.$/.test(entry))
}
