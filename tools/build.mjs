// Builds the package in the current folder with plain tsc: ESM always, CommonJS beside it when the
// package has a tsconfig.cjs.json. Two formats because Jest and older TypeScript settings cannot
// load an ESM-only package.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

rmSync('dist', { recursive: true, force: true })

const builds = [tsc('tsconfig.build.json')]
if (existsSync('tsconfig.cjs.json')) {
  mkdirSync('dist/cjs', { recursive: true })
  writeFileSync('dist/cjs/package.json', '{"type":"commonjs"}\n')
  builds.push(tsc('tsconfig.cjs.json'))
}
const codes = await Promise.all(builds)
process.exitCode = Math.max(...codes)

/** @param {string} project */
function tsc(project) {
  const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
  const child = spawn(process.execPath, [compiler, '-p', project], { stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}
