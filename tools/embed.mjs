// Turns the Lua files and golden traces of packages/core into TypeScript, so that every tool (tsc,
// vitest, bundlers) sees ordinary modules and nothing reads files at run time. A kernel is cut into
// the pieces that its scripts are made of. Git ignores both outputs.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
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
