// What to test of what has changed, so that a change has a verdict soon. All of it is tested by
// `npm test`, and by CI.
//
// A package that changed is tested whole, but for the two whose tests take long. There, `vitest
// related` finds the tests that reach what changed by imports. Most tests of core with Redis reach
// most of core: of them those run that import a changed file themselves or have its name, and the
// conformance suite.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { root, workspacePackages } from './packages.mjs'

const CODE = /\.(ts|mts|js|mjs)$/
/** Of every change: comments, sizes and imports of all sources. */
const RULES = ['test/prose.test.ts', 'test/house.test.ts']
const DOCUMENTS = ['test/documents.test.ts', 'test/changelog.test.ts']
/** What the contract of adapters is for. */
const ADAPTERS = ['@weir/express', '@weir/koa', '@weir/nest']

/**
 * @param {string | undefined} base a commit; undefined: where this branch left main
 * @returns {string[]} files that are not as they were then, from the root
 */
export function changedFiles(base) {
  const from = base ?? git('merge-base', 'HEAD', 'main') ?? 'HEAD'
  const changed = git('diff', '--name-only', from)
  if (changed === undefined) throw new Error(`${from} is no commit in this clone`)
  const added = git('ls-files', '--others', '--exclude-standard') ?? ''
  return [...new Set(`${changed}\n${added}`.split('\n').filter((file) => file !== ''))]
}

/**
 * @param {readonly string[]} files
 * @returns {{ name: string, folder: string, runs: string[][] }[]} by package, arguments for vitest
 */
export function testsOf(files) {
  const packages = workspacePackages()
  const runs = new Map()
  const add = (name, args) => runs.set(name, [...(runs.get(name) ?? []), args])
  if (files.length > 0) add('@weir/core', ['run', '--project', 'unit', ...RULES])
  if (files.some((file) => file.endsWith('.md'))) add('@weir/behaviour', ['run', ...DOCUMENTS])
  for (const [name, folder] of packages) {
    const own = ownFiles(files, folder, [...packages.values()])
    if (own.length === 0) continue
    if (name === '@weir/core') for (const args of coreRuns(own)) add(name, args)
    else if (name === '@weir/behaviour') add(name, ['related', '--run', ...own])
    else add(name, ['run'])
  }
  const isContract = (file) => file.startsWith('packages/core/src/http/')
  if (files.some(isContract)) for (const name of ADAPTERS) if (!runs.has(name)) add(name, ['run'])
  return [...runs].map(([name, own]) => ({ name, folder: packages.get(name), runs: own }))
}

/** Those in a folder and in none within it, from there; without what no test reads. */
function ownFiles(files, folder, folders) {
  const inner = folders.filter((other) => other.startsWith(`${folder}/`))
  return files
    .filter((file) => file.startsWith(`${folder}/`))
    .filter((file) => !inner.some((other) => file.startsWith(`${other}/`)))
    .map((file) => relative(folder, file))
    .filter((file) => !file.endsWith('.md') || file.startsWith('api/'))
}

function coreRuns(own) {
  const core = join(root, 'packages/core')
  const code = own.flatMap(codeOf).filter((file) => existsSync(join(core, file)))
  const runs = []
  // What the configuration means for each test shows only when all run.
  if (own.some((file) => !/^(src|test|api)\//.test(file))) runs.push(['run', '--project', 'unit'])
  else if (code.length > 0) runs.push(['related', '--run', '--project', 'unit', ...code])
  const redis = importersOf(code, core)
  if (redis.length > 0) runs.push(['run', '--project', 'redis', ...redis])
  return runs
}

/** The modules through which tests see a file. */
function codeOf(file) {
  if (file.startsWith('api/')) return ['test/public-types.test.ts']
  if (file.endsWith('.lua')) {
    const twin = file.replace(/\.lua$/, '.ts')
    return ['src/redis/transport/script.ts', 'src/algorithms/lua.generated.ts', twin]
  }
  if (file.endsWith('.trace')) return ['src/testing/traces.generated.ts']
  return CODE.test(file) ? [file] : []
}

/** The tests with Redis that import one of these files, themselves or by a file of tests. */
function importersOf(files, core) {
  const tests = readdirSync(join(core, 'test'), { recursive: true, encoding: 'utf8' })
    .map((file) => `test/${file}`)
    .filter((file) => CODE.test(file))
  const imports = new Map(tests.map((file) => [file, importsIn(core, file)]))
  const reached = new Set(files)
  for (let before = -1; before < reached.size; ) {
    before = reached.size
    for (const [file, imported] of imports)
      if (imported.some((each) => reached.has(each))) reached.add(file)
  }
  const named = files.map((file) => `test/redis/${basename(file, '.ts')}.test.ts`)
  const found = [...reached, ...named].filter((file) => {
    return imports.has(file) && /^test\/redis\/[^/]+\.test\.ts$/.test(file)
  })
  const conformance = 'test/redis/conformance.test.ts'
  const isOfRedis = files.some((file) => /^src\/(redis|algorithms|layers)\//.test(file))
  return [...new Set(isOfRedis ? [conformance, ...found] : found)].sort()
}

function importsIn(core, file) {
  const text = readFileSync(join(core, file), 'utf8')
  const specifiers = [...text.matchAll(/\b(?:from |import |import\()'(\.[^']+)'/g)]
  return specifiers.map(([, specifier]) =>
    relative(core, resolve(core, dirname(file), specifier)).replace(/\.js$/, '.ts'),
  )
}

/** Undefined: git has no answer. */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
