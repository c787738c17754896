// The packages of the workspace: each folder, by the name in its package.json.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
/** The same as in pnpm-workspace.yaml. */
const PARENTS = ['packages', 'internal', 'internal/behaviour/majors', 'examples']
const ALSO = ['tools']

/** @returns {Map<string, string>} */
export function workspacePackages() {
  const inside = PARENTS.flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => `${parent}/${name}`),
  )
  const folders = [...inside, ...ALSO].filter((folder) =>
    existsSync(join(root, folder, 'package.json')),
  )
  return new Map(folders.map((folder) => [manifestOf(folder).name, folder]))
}

/** @param {string} folder from the root */
export function manifestOf(folder) {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
}
