// What must be built before a package of the workspace runs.
import { manifestOf, workspacePackages } from './packages.mjs'

/**
 * The build scripts of packages and of all packages of the workspace that they import.
 * @param {readonly string[]} folders
 * @returns {{ folder: string, script: string }[]}
 */
export function buildScripts(folders) {
  const packages = workspacePackages()
  const reached = new Set(folders)
  // A set also visits what is added meanwhile.
  for (const folder of reached)
    for (const name of importedBy(folder)) if (packages.has(name)) reached.add(packages.get(name))
  return [...reached].flatMap((folder) => {
    const script = manifestOf(folder).scripts?.build
    return script === undefined ? [] : [{ folder, script }]
  })
}

/** For an example, what it imports when it runs; for a package, what its tests import as well. */
function importedBy(folder) {
  const { dependencies = {}, devDependencies = {} } = manifestOf(folder)
  return Object.keys(
    folder.startsWith('examples/') ? dependencies : { ...dependencies, ...devDependencies },
  )
}
