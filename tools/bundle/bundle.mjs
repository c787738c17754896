// Bundles the sources of src/ into few files in dist/, for the package in the current folder. There
// are two formats, since Jest and older TypeScript settings cannot load a package that is ESM only.
//
// Most packages have each entry twice, as ESM and as CommonJS. A package whose exports name a
// `module` (@weir/core) has one copy for Node, in CommonJS, and its ESM entries re-export that
// copy: however an application and its packages load it, a process has one set of classes and
// counters, and warns once. Another copy, in dist/module, is for bundlers, which can drop unused
// code only from ESM.
//
// The code that Node runs has no comments. The copy of @weir/core for Node also has short names for
// local variables and no indentation, but keeps its lines; the copy for bundlers, which print code
// anew anyway, is minified.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { rolldown } from 'rolldown'
import { droppable } from './droppable.mjs'

/**
 * @param {readonly (readonly [name: string, source: string])[]} entries each the name of a file in
 *   dist/, and that of its source in src/
 */
export async function bundle(entries) {
  const imported = importedOf(entries)
  const forBundlers = entries.filter(([name]) => conditionsOf(name)?.module !== undefined)
  const hasOneCopy = forBundlers.length > 0

  const commonJs = { dir: 'dist', format: 'cjs', strict: true, comments: false, ...named('.cjs') }
  const esm = { dir: 'dist', format: 'es', comments: ANNOTATIONS, ...named('.js') }
  if (hasOneCopy) {
    const [chunks] = await write(inputOf(entries), [
      { ...commonJs, ...ROOMS, minify: SHORT_LOCALS },
    ])
    for (const { fileName, type } of chunks) if (type === 'chunk') unindent(join('dist', fileName))
    for (const [name] of imported)
      reexport(chunks.find((chunk) => chunk.isEntry && chunk.name === name))
    const compact = { ...esm, dir: join('dist', 'module'), minify: COMPACT }
    await write(inputOf(forBundlers), [{ ...compact, ...ROOMS }], [droppable])
  } else {
    await write(inputOf(entries), [commonJs, esm])
  }
}

/** The entries that applications import: all but commands. */
export function importedOf(entries) {
  return entries.filter(([name]) => conditionsOf(name) !== undefined)
}

/** What package.json says of an entry. */
export function conditionsOf(name) {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
  return exports[name === 'index' ? '.' : `./${name}`]
}

/** Writes a file for each source, where the compiler would write it. */
export async function translate({ rootDir, outDir }) {
  const sources = readdirSync(rootDir, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.d)\.ts$/.test(file))
    .map((file) => [file.slice(0, -'.ts'.length), file])
  const input = Object.fromEntries(sources.map(([name, file]) => [name, join(rootDir, file)]))
  const output = { dir: outDir, format: 'es', preserveModules: true, preserveModulesRoot: rootDir }
  await write(input, [{ ...output, ...named('.js') }])
}

/** Keeps only the comments that tell a bundler what it may drop. */
const ANNOTATIONS = { legal: false, annotation: true, jsdoc: false }
/** Functions, classes, methods and properties keep their names, which stack traces show. */
const SHORT_LOCALS = {
  compress: false,
  mangle: { keepNames: true, toplevel: false },
  codegen: { removeWhitespace: false },
}
const COMPACT = {
  compress: true,
  mangle: { keepNames: true },
  codegen: { removeWhitespace: true },
}

/**
 * The chunks of @weir/core. `redis` has everything that needs a module of Node, so a bundle for a
 * browser can do without it. Code that only one entry needs also has a chunk, so that the files of
 * entries are short: Node's ESM loader reads them to find their exports.
 */
const ROOMS = {
  codeSplitting: {
    groups: [
      {
        debugName: 'rooms',
        name(path) {
          const [room, ...rest] = relative(resolve('src'), path).split(sep)
          if (room === 'index.ts' || room === 'cli') return null
          // What algorithms say of themselves is for tools and tests.
          if (/^description\.ts$/.test(rest.at(-1))) return 'testing'
          // Stays in its entry, so that nobody loads the adapter of a client that they do not use.
          if (/^clients[\\/](?!ioredis|text|attempt)/.test(rest.join(sep))) return null
          return ['redis', 'http', 'testing', 'database'].includes(room) ? room : 'core'
        },
      },
    ],
  },
}

function named(ending) {
  return { entryFileNames: `[name]${ending}`, chunkFileNames: `chunks/[name]${ending}` }
}

function inputOf(entries) {
  return Object.fromEntries(entries.map(([name, source]) => [name, `./src/${source}.ts`]))
}

/** @returns the chunks of each output */
async function write(input, outputs, plugins = []) {
  const build = await rolldown({
    input,
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    tsconfig: 'tsconfig.build.json',
    // Dependencies, and modules of Node; not what the bundler writes for decorators.
    external: (id) => !/^(\.|\0|@oxc-project\/runtime\/)/.test(id) && !isAbsolute(id),
    platform: 'node',
    plugins,
    experimental: { attachDebugInfo: 'none' },
  })
  const written = []
  for (const output of outputs) written.push((await build.write(output)).output)
  await build.close()
  return written
}

/** Removes indentation by tabs, which no string of the sources contains. */
function unindent(file) {
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^\t+/gm, ''))
}

/** Writes the ESM file of an entry that is CommonJS. */
function reexport({ name, exports }) {
  const names = exports.map((each) => `  ${each},\n`).join('')
  writeFileSync(join('dist', `${name}.js`), `export {\n${names}} from './${name}.cjs'\n`)
}
