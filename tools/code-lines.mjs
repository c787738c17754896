// Counts the code lines of packages/core/src, without comments, blank lines and generated files.
//
//   node tools/code-lines.mjs [folder]     folder: a part or another copy of packages/core/src
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = process.argv[2] ?? fileURLToPath(new URL('../packages/core/src', import.meta.url))
/** Lines without code, in Biome's format: no line of an expression begins with an operator. */
const EMPTY = { ts: /^\s*(\/\/|\/?\*|$)/, lua: /^\s*(--|$)/ }

const counts = { ts: 0, lua: 0 }
for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  const [, language] = /(?<!\.generated)\.(ts|lua)$/.exec(file) ?? []
  if (language === undefined) continue
  const lines = readFileSync(join(folder, file), 'utf8').split('\n')
  counts[language] += lines.filter((line) => !EMPTY[language].test(line)).length
}
const { ts, lua } = counts
console.log(`${ts + lua} code lines: TypeScript ${ts}, Lua ${lua}`)
