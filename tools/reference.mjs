// Builds an earlier Weir from git history, for comparison with the present one. Prints its folder,
// which has packages/{core,express,koa,nest} as they were. Nothing of it is committed.
//
//   node tools/reference.mjs [commit]
//
// It takes its dependencies from the present installation, so it needs no network. Its folder
// packages/benchmarks is empty: from there, `@weir/*` resolves to the packages of that commit, and
// everything else to what the present benchmarks use.
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

const PACKAGES = ['core', 'express', 'koa', 'nest']

const root = fileURLToPath(new URL('..', import.meta.url))

try {
  const commit = commitOf(process.argv[2] ?? '2d54f0d')
  // Outside node_modules, where compilers would take the sources for third-party code.
  const folder = join(root, '.cache/weir', commit)
  if (!existsSync(folder)) build(commit, folder)
  console.log(folder)
} catch (error) {
  console.error(`weir: ${error.message}`)
  process.exitCode = 1
}

/** The full hash, since a name may later refer to another commit. */
function commitOf(name) {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (status === 0) return stdout.trim()
  throw new Error(`commit ${name} is not in this clone. Fetch it: git fetch --unshallow`)
}

function build(commit, folder) {
  mkdirSync(dirname(folder), { recursive: true })
  // Renamed when it is complete, so that an interrupted build is never used.
  const work = mkdtempSync(`${folder}-`)
  try {
    const paths = ['tsconfig.base.json', 'tools', ...PACKAGES.map((name) => `packages/${name}`)]
    const archive = execFileSync('git', ['archive', commit, ...paths], {
      cwd: root,
      maxBuffer: 2 ** 28,
    })
    execFileSync('tar', ['-x', '-C', work], { input: archive })
    // The tools that the build of that commit uses.
    link(join(root, 'node_modules'), join(work, 'node_modules'))
    // Where the bundler of declarations is today.
    link(join(root, 'tools/node_modules'), join(work, 'tools/node_modules'))
    for (const name of [...PACKAGES, 'benchmarks']) linkDependencies(name, work)
    for (const name of PACKAGES) {
      const cwd = join(work, 'packages', name)
      execFileSync('npm', ['run', '--silent', 'build'], { cwd, stdio: ['ignore', 2, 2] })
    }
    renameSync(work, folder)
  } catch (error) {
    rmSync(work, { recursive: true, force: true })
    throw error
  }
}

/** Links the package's present dependencies, except for the packages of the reference. */
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
      // Relative, since the folder is renamed afterwards.
      if (PACKAGES.includes(weir)) link(join('../../..', weir), join(own, path))
      else link(join(present, path), join(own, path))
    }
  }
}

function link(target, path) {
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path, 'junction')
}
