// Bundles the files of build/ into few files in dist/, for the package in the current folder. There
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
import { readFileSync, writeFileSync } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { rolldown } from 'rolldown'
import { droppable } from './droppable.mjs'
import { bundleTypes } from './types.mjs'

/**
 * @param {readonly (readonly [name: string, source: string])[]} entries each the name of a file in
 *   dist/, and that of its source in build/
 */
export async function bundle(entries) {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
  const conditionsOf = (name) => exports[name === 'index' ? '.' : `./${name}`]
  // A command has no types.
  const imported = entries.filter(([name]) => conditionsOf(name) !== undefined)
  const forBundlers = entries.filter(([name]) => conditionsOf(name)?.module !== undefined)
  const hasOneCopy = forBundlers.length > 0

  const commonJs = { dir: 'dist', format: 'cjs', strict: true, comments: false, ...named('.cjs') }
  const esm = { dir: 'dist', format: 'es', comments: ANNOTATIONS, ...named('.js') }
  if (hasOneCopy) {
    const [chunks] = await write(entries, [{ ...commonJs, ...ROOMS, minify: SHORT_LOCALS }])
    for (const { fileName, type } of chunks) if (type === 'chunk') unindent(join('dist', fileName))
    for (const [name] of imported)
      reexport(chunks.find((chunk) => chunk.isEntry && chunk.name === name))
    const compact = { ...esm, dir: join('dist', 'module'), minify: COMPACT }
    await write(forBundlers, [{ ...compact, ...ROOMS }], [droppable])
  } else {
    await write(entries, [commonJs, esm])
  }
  await bundleTypes(imported, { hasOneCopy })
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
          const [room, ...rest] = relative(resolve('build'), path).split(sep)
          if (room === 'index.js' || room === 'cli') return null
          // Stays in its entry, so that nobody loads the adapter of a client that they do not use.
          if (/^clients[\\/](node-redis|glide)/.test(rest.join(sep))) return null
          return ['redis', 'http', 'testing', 'database'].includes(room) ? room : 'core'
        },
      },
    ],
  },
}

function named(ending) {
  return { entryFileNames: `[name]${ending}`, chunkFileNames: `chunks/[name]${ending}` }
}

/** @returns the chunks of each output */
async function write(entries, outputs, plugins = []) {
  const build = await rolldown({
    input: Object.fromEntries(entries.map(([name, source]) => [name, `./build/${source}.js`])),
    // Dependencies, and modules of Node.
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
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
