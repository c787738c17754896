// Selects tests for what has changed, for a first verdict. `npm test` and CI run all tests.
//
// All tests of a changed package run, except for the two packages whose tests take minutes. Of
// internal/behaviour, those tests run that import a changed file directly or indirectly. In core,
// nearly all tests reach nearly all sources through the index. So of core the following run:
// - without Redis: the tests of the same folder, those that reach a changed file without passing an
//   index, and the conformance suite on the memory store;
// - with Redis: those that import a changed file themselves or through a file of tests, or have its
//   name, and for a change in algorithms, layers or redis, the conformance suite.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { root, workspacePackages } from './packages.mjs'

const CODE = /\.(ts|mts|js|mjs)$/
/** For every change: comments, sizes and imports of all sources. */
const RULES = ['test/prose.test.ts', 'test/style.test.ts', 'test/house.test.ts']
/** For documents: what they name, and where their links lead. */
const DOCUMENTS = {
  '@weir/behaviour': ['test/documents.test.ts', 'test/changelog.test.ts'],
  '@weir/release': ['test/documents.test.ts'],
}
/** In core: the files that most tests import, and the suite that checks the decisions of a
 *  store. */
const INDEX = /^src\/(\w+\/)?index\.ts$/
const WITH_REDIS = /^test\/redis\/[^/]+\.test\.ts$/
const IN_MEMORY = 'test/memory/conformance.test.ts'
const IN_REDIS = 'test/redis/conformance.test.ts'
const core = join(root, 'packages/core')
/** The packages that the contract of adapters is for. */
const ADAPTERS = ['@weir/express', '@weir/koa', '@weir/nest']

/**
 * @param {string | undefined} base a commit; if undefined, the one where this branch left main
 * @returns {string[]} files that have changed since, as paths from the root
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
 * @returns {{ name: string, folder: string, runs: string[][] }[]} for each package, arguments for
 *   vitest
 */
export function testsOf(files) {
  const packages = workspacePackages()
  const runs = new Map()
  const add = (name, args) => runs.set(name, [...(runs.get(name) ?? []), args])
  const ofCore = ownFiles(files, 'packages/core', [])
  if (files.length > 0) for (const args of coreRuns(ofCore)) add('@weir/core', args)
  if (files.some((file) => file.endsWith('.md')))
    for (const [name, tests] of Object.entries(DOCUMENTS)) add(name, ['run', ...tests])
  for (const [name, folder] of packages) {
    const own = ownFiles(files, folder, [...packages.values()])
    if (own.length === 0 || name === '@weir/core') continue
    if (name === '@weir/behaviour') add(name, ['related', '--run', ...own])
    else add(name, ['run'])
  }
  const isContract = (file) => file.startsWith('packages/core/src/http/')
  if (files.some(isContract)) for (const name of ADAPTERS) if (!runs.has(name)) add(name, ['run'])
  return [...runs].map(([name, own]) => ({ name, folder: packages.get(name), runs: own }))
}

/** The files in a folder and in no package inside it, relative to the folder, without those that no
 *  test reads. */
function ownFiles(files, folder, folders) {
  const inner = folders.filter((other) => other.startsWith(`${folder}/`))
  return files
    .filter((file) => file.startsWith(`${folder}/`))
    .filter((file) => !inner.some((other) => file.startsWith(`${other}/`)))
    .map((file) => relative(folder, file))
    .filter((file) => !file.endsWith('.md') || file.startsWith('api/'))
}

function coreRuns(own) {
  // Any test may depend on the configuration, so all run.
  const isWhole = own.some((file) => !/^(src|test|api)\//.test(file))
  const imports = importsOf(core)
  const code = own.flatMap(codeOf).filter((file) => imports.has(file))
  const unit = isWhole ? [] : [...RULES, ...withoutRedis(code, imports)]
  const redis = withRedis(code, imports)
  const runs = [['run', '--project', 'unit', ...unit]]
  return redis.length === 0 ? runs : [...runs, ['run', '--project', 'redis', ...redis]]
}

function withoutRedis(code, imports) {
  const rooms = code.flatMap((file) => /^src\/(\w+)\//.exec(file)?.[1] ?? [])
  const isIn = (file) => rooms.some((room) => file.startsWith(`test/${room}/`))
  const reached = reaching(code, imports, (file) => !INDEX.test(file))
  const found = [...imports.keys()].filter((file) => reached.has(file) || isIn(file))
  const tests = found.filter((file) => /\.test\.ts$/.test(file) && !WITH_REDIS.test(file))
  const hasSuite = code.some((file) => file.startsWith('src/'))
  return [...new Set([...(hasSuite ? [IN_MEMORY] : []), ...tests])].sort()
}

function withRedis(code, imports) {
  const named = code.map((file) => `test/redis/${basename(file, '.ts')}.test.ts`)
  const reached = reaching(code, imports, (file) => code.includes(file) || file.startsWith('test/'))
  const found = [...reached, ...named].filter((file) => imports.has(file) && WITH_REDIS.test(file))
  const hasSuite = code.some((file) => /^src\/(redis|algorithms|layers)\//.test(file))
  return [...new Set([...(hasSuite ? [IN_REDIS] : []), ...found])].sort()
}

/** The modules through which tests import a file. */
function codeOf(file) {
  if (file.startsWith('api/')) return ['test/public-types.test.ts']
  if (file.endsWith('.lua')) {
    const twin = file.replace(/\.lua$/, '.ts')
    return ['src/redis/transport/script.ts', 'src/algorithms/lua.generated.ts', twin]
  }
  if (file.endsWith('.trace')) return ['src/testing/traces.generated.ts']
  return CODE.test(file) ? [file] : []
}

/** The files, and those that import them directly or through files that `isPassed` accepts. */
function reaching(files, imports, isPassed) {
  const reached = new Set(files)
  for (let before = -1; before < reached.size; ) {
    before = reached.size
    for (const [file, imported] of imports)
      if (imported.some((each) => reached.has(each) && isPassed(each))) reached.add(file)
  }
  return reached
}

/** For each file of code in a package, the files that it imports. */
function importsOf(folder) {
  const files = ['src', 'test'].flatMap((part) =>
    readdirSync(join(folder, part), { recursive: true, encoding: 'utf8' })
      .map((file) => `${part}/${file}`)
      .filter((file) => CODE.test(file)),
  )
  return new Map(files.map((file) => [file, importsIn(folder, file)]))
}

function importsIn(folder, file) {
  const text = readFileSync(join(folder, file), 'utf8')
  const specifiers = [...text.matchAll(/\b(?:from |import |import\()'(\.[^']+)'/g)]
  return specifiers.map(([, specifier]) =>
    relative(folder, resolve(folder, dirname(file), specifier)).replace(/\.js$/, '.ts'),
  )
}

/** Returns undefined if git fails. */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
