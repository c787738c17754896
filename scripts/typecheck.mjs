// Checks the types of sources, tests, examples and tools. Most packages are one program: as many
// programs, they would read each other's declarations over and over. Needs a build, which checks
// the sources of each package by themselves.
//
//   npm run typecheck [-- OPTION...]  options of the compiler
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root, workspacePackages } from './packages.mjs'

/** Not for Node, or JavaScript. */
const OTHERS = [
  'packages/dashboard/src/page',
  'packages/dashboard/test/browser',
  'packages/simulate/playground',
  'examples',
  'tools/release',
]

const all = [...workspacePackages().values()].filter(
  (folder) =>
    /^(packages|internal)\//.test(folder) && existsSync(join(root, folder, 'tsconfig.json')),
)
/** Packages that find modules in a way of their own: of an adapter that adds to a framework's
 *  types, a program has either the sources or the build. */
const apart = all.filter((folder) => configOf(folder).compilerOptions?.paths !== undefined)

const cache = join(root, '.cache')
const from = (path) => relative(cache, join(root, path))
const joint = {
  extends: from('tsconfig.base.json'),
  compilerOptions: {
    experimentalDecorators: true,
    isolatedDeclarations: false,
    declaration: false,
    declarationMap: false,
  },
  include: all
    .filter((folder) => !apart.includes(folder))
    .flatMap((folder) => configOf(folder).include.map((part) => from(`${folder}/${part}`))),
  exclude: OTHERS.map(from),
}
mkdirSync(cache, { recursive: true })
writeFileSync(join(cache, 'tsconfig.json'), JSON.stringify(joint))

const tsc = join(root, 'node_modules/typescript/bin/tsc')
for (const program of [cache, ...apart, ...OTHERS]) {
  const args = [tsc, '-p', program, '--noEmit', ...process.argv.slice(2)]
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}

function configOf(folder) {
  return JSON.parse(readFileSync(join(root, folder, 'tsconfig.json'), 'utf8'))
}
