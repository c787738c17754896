// Turns the Lua files and golden traces of packages/core into TypeScript, so that every tool (tsc, vitest,
// bundlers) sees ordinary modules and nothing reads files at run time. Both outputs are git-ignored.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const src = fileURLToPath(new URL('../packages/core/src/', import.meta.url))

const lua = files('.lua').map(
  ({ folder, name, text }) =>
    `export const ${camelCase(nameOf(folder, name))}Lua: string = ${JSON.stringify(stripLua(name, text))}\n`,
)
writeIfChanged('algorithms/lua.generated.ts', lua.join(''))

const traces = files('.trace').map(
  ({ name, text }) => `  ${JSON.stringify(name)}: ${JSON.stringify(text)},\n`,
)
writeIfChanged(
  'testing/traces.generated.ts',
  `export const traces: Readonly<Record<string, string>> = {\n${traces.join('')}}\n`,
)

/** The files of the algorithms with one ending, sorted, so that the output does not depend on the file system. */
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

/** `bucket/kernel.lua` is called after its folder, `sliding-log/entries.lua` after both. */
function nameOf(folder, name) {
  return folder === '.'
    ? name
    : name
        .replace(/^(?!kernel)/, '.')
        .replace(/^kernel/, '')
        .replace(/^/, folder)
}

/** Comments are for the reader of the .lua file: they need not travel to Redis. */
function stripLua(name, text) {
  const lines = text.split(/\r?\n/).map((line) => line.trimEnd())
  if (lines.some((line) => /--\[=*\[/.test(line)))
    throw new Error(`${name}.lua: block comments are not supported`)
  return `${lines.filter((line) => line !== '' && !/^\s*--/.test(line)).join('\n')}\n`
}

function camelCase(name) {
  return name.replace(/[-_.](\w)/g, (_, letter) => letter.toUpperCase())
}

/** An untouched file keeps its time stamp, and so watchers and caches stay quiet. */
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
