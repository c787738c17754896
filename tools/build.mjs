// Builds the package in the current folder. TypeScript's compiler checks and translates it; the
// entries that are published are then bundled.
//
//   node ../../tools/build.mjs                        writes a file for each source into dist
//   node ../../tools/build.mjs index http=http/index  writes them into build, and bundles these
//                                                     entries from there into dist
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const entries = process.argv.slice(2).map((entry) => {
  const [name, source = name] = entry.split('=')
  return [name, source]
})

for (const folder of ['build', 'dist']) rmSync(folder, { recursive: true, force: true })
process.exitCode = await tsc('tsconfig.build.json')
if (process.exitCode === 0 && entries.length > 0) {
  const { bundle } = await import('./bundle/bundle.mjs')
  await bundle(entries)
}

/** @param {string} project */
function tsc(project) {
  const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
  const child = spawn(process.execPath, [compiler, '-p', project], { stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}
