// Builds the package in the current folder.
//
//   node ../../tools/build.mjs                        writes a file for each source into dist
//   node ../../tools/build.mjs index http=http/index  bundles these entries of src into dist
//
// TypeScript's compiler checks the sources and writes declarations. `npm start` and `npm test` need
// neither: with WEIR_BUILD=javascript, the bundler alone writes the same JavaScript, in a tenth of
// the time.
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundle, translate } from './bundle/bundle.mjs'

const entries = process.argv.slice(2).map((entry) => {
  const [name, source = name] = entry.split('=')
  return [name, source]
})
const isWhole = process.env.WEIR_BUILD !== 'javascript'
const { compilerOptions } = JSON.parse(readFileSync('tsconfig.build.json', 'utf8'))

for (const folder of ['build', 'dist']) rmSync(folder, { recursive: true, force: true })
const declarations = entries.length > 0 ? ['--emitDeclarationOnly'] : []
process.exitCode = isWhole ? await tsc('-p', 'tsconfig.build.json', ...declarations) : 0
if (process.exitCode === 0 && entries.length > 0) {
  await bundle(entries)
  if (isWhole) {
    const { bundleTypes } = await import('./bundle/types.mjs')
    await bundleTypes(entries)
  }
} else if (!isWhole) {
  await translate(compilerOptions)
}

function tsc(...args) {
  const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
  const child = spawn(process.execPath, [compiler, ...args], { stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}
