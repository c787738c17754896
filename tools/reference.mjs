// Weir 0.1, from git history, built beside the present: what later versions are compared with.
// Prints the folder that holds it, with packages/{core,express,koa,nest} as they were. Nothing of
// it is committed.
//
//   node tools/reference.mjs
//
// It takes its dependencies from the present installation, so it needs no network.
// packages/benchmarks is there too: an empty place from which `@weir/*` means 0.1, and everything
// else what it means to the benchmarks of today.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const COMMIT = '339354603f63934429d4c872ad0d090eace58ebd'
const PACKAGES = ['core', 'express', 'koa', 'nest']

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'node_modules/.cache/weir/v0.1')

if (!existsSync(folder)) {
  try {
    build()
  } catch (error) {
    console.error(`weir: ${error.message}`)
    process.exit(1)
  }
}
console.log(folder)

function build() {
  if (spawnSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: root }).status !== 0) {
    throw new Error(
      `the commit of Weir 0.1, ${COMMIT.slice(0, 7)}, is not in this clone. Fetch it: git fetch --unshallow`,
    )
  }
  mkdirSync(dirname(folder), { recursive: true })
  // Named once it is whole, so that a build that was interrupted is never taken for one.
  const work = mkdtempSync(`${folder}-`)
  try {
    const paths = ['tsconfig.base.json', 'tools', ...PACKAGES.map((name) => `packages/${name}`)]
    const archive = execFileSync('git', ['archive', COMMIT, ...paths], {
      cwd: root,
      maxBuffer: 2 ** 28,
    })
    execFileSync('tar', ['-x', '-C', work], { input: archive })
    link(join(root, 'node_modules/typescript'), join(work, 'node_modules/typescript'))
    for (const name of [...PACKAGES, 'benchmarks']) linkDependencies(name, work)
    for (const name of PACKAGES) {
      const cwd = join(work, 'packages', name)
      if (name === 'core') run(cwd, '../../tools/embed.mjs')
      run(cwd, '../../tools/build.mjs')
    }
    renameSync(work, folder)
  } catch (error) {
    rmSync(work, { recursive: true, force: true })
    throw error
  }
}

/** What the package of that name is given today; but of what 0.1 has itself, its own. */
function linkDependencies(name, work) {
  const home = name === 'benchmarks' ? 'internal' : 'packages'
  const present = join(root, home, name, 'node_modules')
  const own = join(work, 'packages', name, 'node_modules')
  for (const entry of readdirSync(present).filter((entry) => !entry.startsWith('.'))) {
    const within = entry.startsWith('@')
      ? readdirSync(join(present, entry)).map((each) => join(entry, each))
      : [entry]
    for (const path of within) {
      const weir = /^@weir.(\w+)$/.exec(path)?.[1]
      // Relative, since the folder is still to be renamed.
      if (PACKAGES.includes(weir)) link(join('../../..', weir), join(own, path))
      else link(join(present, path), join(own, path))
    }
  }
}

function link(target, path) {
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path, 'junction')
}

function run(cwd, script) {
  execFileSync(process.execPath, [script], { cwd, stdio: ['ignore', 2, 2] })
}
