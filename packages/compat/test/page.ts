// The tables of docs/compat.md that tests write.

import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'

const path = resolve(import.meta.dirname, '../../../docs/compat.md')

/** Whether to write the tables: `npm run tables:write`. */
export const writes: boolean = process.env.WEIR_TABLES === 'write'

/** The text between the marks with that name; if a table is given, replaces it. */
export async function between(name: string, table?: string): Promise<string> {
  const text = await readFile(path, 'utf8')
  const [start, end] = [`<!-- ${name}:start -->\n\n`, `\n<!-- ${name}:end -->`]
  const [from, to] = [text.indexOf(start) + start.length, text.indexOf(end)]
  if (from < start.length || to < from) throw new Error(`docs/compat.md has no marks for ${name}`)
  if (table !== undefined) await writeFile(path, text.slice(0, from) + table + text.slice(to))
  return text.slice(from, to)
}
