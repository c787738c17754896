// What is published of the package in the current folder: what stands in build/, as few files in
// dist/. There are two formats, since Jest and older TypeScript settings cannot load a package that
// is ESM only.
//
// Most packages have each entry twice, as ESM and as CommonJS. A package whose exports name a
// `module` (@weir/core) has one copy for Node, in CommonJS, from which its ESM takes its exports:
// whichever way an application and its packages load it, a process has one set of classes and
// counters, and warns once. Another copy, in dist/module, is for bundlers, which can leave out only
// of ESM what an application does not use.
//
// What Node runs has no comments. The copy of @weir/core for Node also has short names of local
// variables and no indents, but keeps its lines; the copy that bundlers read and print anew is
// minified.
import { readFileSync, writeFileSync } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { rolldown } from 'rolldown'
import { droppable } from './droppable.mjs'
import { bundleTypes } from './types.mjs'

/**
 * @param {readonly (readonly [name: string, source: string])[]} entries each the name of a file in
 * dist/, and that of its source in build/
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

/** Of comments, those that tell a bundler what it may leave out. */
const ANNOTATIONS = { legal: false, annotation: true, jsdoc: false }
/** Functions, classes, methods and properties keep their names: stack traces show them. */
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
 * The chunks of @weir/core. All that needs a module of Node is in `redis`, which a browser's bundle
 * can do without. What is of one entry alone has a chunk, too: Node's ESM loader reads the file of
 * an entry to find its exports, and so it is short.
 */
const ROOMS = {
  codeSplitting: {
    groups: [
      {
        debugName: 'rooms',
        name(path) {
          const [room, ...rest] = relative(resolve('build'), path).split(sep)
          if (room === 'index.js' || room === 'cli') return null
          // In its entry, so that nobody loads what adapts a client that they do not use.
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

/** Indents are tabs, which no text of the sources has. */
function unindent(file) {
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^\t+/gm, ''))
}

/** Writes the ESM of an entry that is CommonJS. */
function reexport({ name, exports }) {
  const names = exports.map((each) => `  ${each},\n`).join('')
  writeFileSync(join('dist', `${name}.js`), `export {\n${names}} from './${name}.cjs'\n`)
}
