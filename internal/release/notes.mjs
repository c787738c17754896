// What a changelog says of one version.

/**
 * @param {string} changelog
 * @param {string} version
 * @returns {string}
 */
export function notesOf(changelog, version) {
  const section = `\n${changelog}`.split('\n## ').find((part) => part.startsWith(`${version}\n`))
  if (section === undefined) throw new Error(`the changelog says nothing of ${version}`)
  return section.slice(version.length).trim()
}
