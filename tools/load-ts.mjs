// Loads TypeScript of packages/core into a tool, sources as they are: Node 20 cannot, vite, which
// the tests have, can.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const core = createRequire(new URL('../packages/core/package.json', import.meta.url))
const { runnerImport } = await import(pathToFileURL(core.resolve('vite')))

/**
 * @param {string} path of a module; it and all that it imports are loaded anew. Resolves to what it
 * exports.
 */
export async function loadTs(path) {
  const { module } = await runnerImport(path, { configFile: false, logLevel: 'error' })
  return module
}
