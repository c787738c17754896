// The tables in docs/compat-tested.md that tests make.

import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'

const PAGE = resolve(import.meta.dirname, '../../../docs/compat-tested.md')

/** Whether to write the page: `npm run tables:write`. */
export const writes: boolean = process.env.WEIR_TABLES === 'write'

/** The text between the marks with that name; if a table is given, replaces it. */
export async function between(name: string, table?: string): Promise<string> {
  const page = await readFile(PAGE, 'utf8')
  const [start, end] = [`<!-- ${name}:start -->\n\n`, `\n<!-- ${name}:end -->`]
  const [from, to] = [page.indexOf(start) + start.length, page.indexOf(end)]
  if (from < start.length || to < from)
    throw new Error(`docs/compat-tested.md has no marks for ${name}`)
  if (table !== undefined) await writeFile(PAGE, page.slice(0, from) + table + page.slice(to))
  return page.slice(from, to)
}
