// The projects of vitest that a step of CI runs, found by the workspace: each package with a
// vitest.config.js is a project, or has several, of which each may name a step of its own.
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { manifestOf, root, workspacePackages } from './packages.mjs'

/** @param {string} step */
export async function projectsOf(step) {
  // `npm test` installs no other packages.
  const folders = step === 'test' ? foldersOf(step) : testedFolders()
  const found = await Promise.all(folders.map((folder) => projectsIn(folder, step)))
  return found.flat()
}

/**
 * The packages whose tests a step runs, except projects that name another one.
 * @param {string} step
 */
export function foldersOf(step) {
  return testedFolders().filter((folder) => stepOf(folder) === step)
}

/** The steps that run tests, each once. */
export async function stepNames() {
  const found = await Promise.all(
    testedFolders().map(async (folder) => {
      const { projects = [{}] } = (await configOf(folder)).test
      return projects.map((/** @type {{ step?: string }} */ { step }) => step ?? stepOf(folder))
    }),
  )
  return [...new Set(found.flat())]
}

function testedFolders() {
  return [...workspacePackages().values()].filter((folder) =>
    existsSync(join(root, folder, 'vitest.config.js')),
  )
}

/**
 * The step that runs the tests of a package; `test` is `npm test`.
 * @param {string} folder
 * @returns {string}
 */
function stepOf(folder) {
  return manifestOf(folder).weir?.step ?? 'test'
}

/**
 * @param {string} folder
 * @param {string} wanted
 */
async function projectsIn(folder, wanted) {
  const { test, ...config } = await configOf(folder)
  const { projects = [{ test: {} }], ...shared } = test
  return projects
    .filter((/** @type {{ step?: string }} */ { step }) => (step ?? stepOf(folder)) === wanted)
    .map((/** @type {{ test: { name?: string } }} */ { test: own, ...more }) => {
      const name = [basename(folder), own.name].filter(Boolean).join(' ')
      return { ...config, ...more, root: join(root, folder), test: { ...shared, ...own, name } }
    })
}

/** @param {string} folder */
async function configOf(folder) {
  return (await import(pathToFileURL(join(root, folder, 'vitest.config.js')).href)).default
}
