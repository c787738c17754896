// Turns the Lua files and golden traces of packages/core into TypeScript, so that every tool (tsc,
// vitest, bundlers) sees ordinary modules and nothing reads files at run time. A kernel is cut into
// the pieces that its scripts are made of. Also writes the lists of algorithms: each folder with a
// description is one. Git ignores all outputs.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { kernelLuaOf, withoutComments } from './kernel-lua.mjs'
import { loadTs } from './load-ts.mjs'
import { modesLuaOf } from './modes-lua.mjs'

const src = fileURLToPath(new URL('../packages/core/src/', import.meta.url))

const modes = await loadTs(join(src, 'algorithms/modes.ts'))
const lua = files('.lua').map(({ folder, name, text }) => {
  if (/--\[=*\[|@/.test(text)) throw new Error(`${folder}/${name}.lua: has a block comment or an @`)
  return folder === '.'
    ? `export const ${name}Lua: string = ${JSON.stringify(withoutComments(text))}\n`
    : `export const ${camelCase(folder)}Lua: KernelLua = ${JSON.stringify(kernelLuaOf(text, modes))}\n`
})
writeIfChanged(
  'algorithms/lua.generated.ts',
  `import type { KernelLua } from './algorithm.js'\n\n${lua.join('')}export const modesLua: string = ${JSON.stringify(modesLuaOf(modes))}\n`,
)

const traces = files('.trace').map(
  ({ name, text }) => `  ${JSON.stringify(name)}: ${JSON.stringify(text)},\n`,
)
writeIfChanged(
  'testing/traces.generated.ts',
  `export const traces: Readonly<Record<string, string>> = {\n${traces.join('')}}\n`,
)

const folders = readdirSync(join(src, 'algorithms'))
  .filter((folder) => existsSync(join(src, 'algorithms', folder, 'description.ts')))
  .sort()
writeIfChanged(
  'testing/algorithms.generated.ts',
  `import type { AlgorithmDescription } from '../algorithms/description.js'
${importsOf('description', '../algorithms')}
/** All algorithms, by the names of their folders. */
export const algorithms: Readonly<Record<string, AlgorithmDescription>> = {
${folders.map((folder) => `  '${folder}': ${camelCase(folder)},\n`).join('')}}
`,
)
const { algorithms } = await loadTs(join(src, 'testing/algorithms.generated.ts'))
const factories = folders.flatMap((folder) =>
  Object.keys(algorithms[folder].policies).map((name) => ({ folder, name })),
)
writeIfChanged(
  'algorithms/names.generated.ts',
  `/** What a policy's \`algorithm\` says; \`unlimited\`: there is none. */
export type Algorithm =
  | 'unlimited'
${factories.map(({ name }) => `  | '${kebabCase(name)}'\n`).join('')}`,
)
writeIfChanged(
  'algorithms/factories.generated.ts',
  `import type { Policy } from './policy.js'
${factories.map(({ folder, name }) => `import { ${name} } from './${folder}/policies.js'\n`).join('')}
/** The factories of all algorithms, by the names that policies as data give them. */
export const factories: Readonly<Record<string, (options: never) => Policy>> = {
${factories.map(({ name }) => `  '${kebabCase(name)}': ${name},\n`).join('')}}
`,
)

writeIfChanged(
  'algorithms/repository.generated.ts',
  `import type { AlgorithmInRepository } from './repository.js'
${importsOf('repository', '.')}
/** All algorithms, by the names of their folders. */
export const inRepository: Readonly<Record<string, AlgorithmInRepository>> = {
${folders.map((folder) => `  '${folder}': ${camelCase(folder)},\n`).join('')}}
`,
)

/** Imports what each algorithm exports under this name, as the name of its folder. */
function importsOf(name, from) {
  return folders
    .map(
      (folder) =>
        `import { ${name} as ${camelCase(folder)} } from '${from}/${folder}/${name}.js'\n`,
    )
    .join('')
}

/**
 * The files of the algorithms with an extension, sorted so that the output does not depend on the
 * file system.
 */
function files(ending) {
  return readdirSync(join(src, 'algorithms'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .sort()
    .map((file) => ({
      folder: dirname(file),
      name: basename(file, ending),
      text: readFileSync(join(src, 'algorithms', file), 'utf8'),
    }))
}

function camelCase(name) {
  return name.replace(/[-_.](\w)/g, (_, letter) => letter.toUpperCase())
}

/** The algorithm that a factory is named after. */
function kebabCase(name) {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** Leaves an unchanged file untouched: its time stamp stays, and no watcher or cache reacts. */
function writeIfChanged(file, content) {
  const path = join(src, file)
  const text = `// Written by tools/embed.mjs. Do not edit.\n${content}`
  try {
    if (readFileSync(path, 'utf8') === text) return
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
