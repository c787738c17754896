// Loads TypeScript sources of packages/core into a tool. Node 20 cannot do this; vite can, and is
// installed for the tests.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const core = createRequire(new URL('../packages/core/package.json', import.meta.url))
const { runnerImport } = await import(pathToFileURL(core.resolve('vite')))

/**
 * @param {string} path of a module, which is loaded again together with its imports. Resolves to
 *   its exports.
 */
export async function loadTs(path) {
  const { module } = await runnerImport(path, { configFile: false, logLevel: 'error' })
  return module
}
