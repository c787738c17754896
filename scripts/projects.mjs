// The projects of vitest that a step of CI runs, found by the workspace: each package with a
// vitest.config.js is a project, or has several.
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, workspacePackages } from './packages.mjs'

/** The folders of the packages whose tests a step runs. */
export function foldersOf(step) {
  return [...workspacePackages().values()].filter(
    (folder) => existsSync(join(root, folder, 'vitest.config.js')) && stepOf(folder) === step,
  )
}

/** The step that runs the tests of a package; `test` is `npm test`. */
export function stepOf(folder) {
  const { weir } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  return weir?.step ?? 'test'
}

export async function projectsOf(step) {
  const found = await Promise.all(foldersOf(step).map(projectsIn))
  return found.flat()
}

async function projectsIn(folder) {
  const file = pathToFileURL(join(root, folder, 'vitest.config.js'))
  const { test, ...config } = (await import(file.href)).default
  const { projects, ...shared } = test
  const own = projects ?? [{ test: {} }]
  return own.map((project) => {
    const name = [basename(folder), project.test.name].filter(Boolean).join(' ')
    return { ...config, root: join(root, folder), test: { ...shared, ...project.test, name } }
  })
}
