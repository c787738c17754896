// The packages of the workspace: each folder, by the name in its package.json.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
/** The same as in pnpm-workspace.yaml. */
const PARENTS = ['packages', 'internal', 'internal/nest-versions', 'examples']

/** @returns {Map<string, string>} */
export function workspacePackages() {
  const folders = PARENTS.flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => `${parent}/${name}`),
  )
  return new Map(
    folders
      .map((folder) => [join(root, folder, 'package.json'), folder])
      .filter(([manifest]) => existsSync(manifest))
      .map(([manifest, folder]) => [JSON.parse(readFileSync(manifest, 'utf8')).name, folder]),
  )
}
