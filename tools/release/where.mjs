// The address of the project, which is set in one place: `repository` in the root's package.json.
// Until its owner has done so, packages link to the pages inside themselves.

/** What a message tells the owner to write. */
export const RIGHT = `"repository": "github:OWNER/NAME" in the package.json of the root`

/** Only GitHub, since the workflows, trusted publishing and provenance are those of GitHub. */
const FORM = /^github:([\w.-]+)\/([\w.-]+)$/

/**
 * @param {{ repository?: unknown }} manifest of the root
 * @returns {string | undefined} such as `https://github.com/OWNER/NAME`; undefined if it is not set
 * @throws {Error} with a message that says what to write instead
 */
export function whereItLives({ repository }) {
  if (repository === undefined) return undefined
  const [, owner, name] = FORM.exec(String(repository)) ?? []
  if (owner !== undefined) return `https://github.com/${owner}/${name}`
  throw new Error(`repository is ${JSON.stringify(repository)}; write ${RIGHT}`)
}

/**
 * The origin in a package's manifest.
 * @param {string} url
 * @param {string} folder of the package, from the root
 */
export function originOf(url, folder) {
  return {
    repository: { type: 'git', url: `git+${url}.git`, directory: folder },
    homepage: `${url}/tree/HEAD/${folder}#readme`,
    bugs: { url: `${url}/issues` },
  }
}

/**
 * The page of a file or folder of the repository at a version.
 * @param {string} url
 * @param {string} version
 * @param {string} path from the root, with an anchor if there is one
 * @param {'blob' | 'tree' | 'raw'} kind a file's page, a folder's page, or a file itself
 */
export function pageAt(url, version, path, kind = 'blob') {
  return `${url}/${kind}/v${version}/${path}`
}
