// The projects of vitest that a step of CI runs, found by the workspace: each package with a
// vitest.config.js is a project, or has several, of which each may name a step of its own.
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, workspacePackages } from './packages.mjs'

export async function projectsOf(step) {
  const folders = [...workspacePackages().values()].filter((folder) =>
    existsSync(join(root, folder, 'vitest.config.js')),
  )
  const found = await Promise.all(folders.map((folder) => projectsIn(folder, step)))
  return found.flat()
}

/** The step that runs the tests of a package; `test` is `npm test`. */
function stepOf(folder) {
  const { weir } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  return weir?.step ?? 'test'
}

async function projectsIn(folder, wanted) {
  const file = pathToFileURL(join(root, folder, 'vitest.config.js'))
  const { test, ...config } = (await import(file.href)).default
  const { projects, ...shared } = test
  const own = projects ?? [{ test: {} }]
  return own
    .filter(({ step = stepOf(folder) }) => step === wanted)
    .map((project) => {
      const name = [basename(folder), project.test.name].filter(Boolean).join(' ')
      return { ...config, root: join(root, folder), test: { ...shared, ...project.test, name } }
    })
}
