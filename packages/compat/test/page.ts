// The tables that tests write: the short ones in docs/compat.md, and the full ones in
// results/tested.md.

import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../../..')

export const SUMMARY = 'docs/compat.md'
export const RESULTS = 'packages/compat/results/tested.md'

/** Whether to write the pages: `npm run tables:write`. */
export const writes: boolean = process.env.WEIR_TABLES === 'write'

/** The text between the marks with that name; if a table is given, replaces it. */
export async function between(page: string, name: string, table?: string): Promise<string> {
  const path = resolve(root, page)
  const text = await readFile(path, 'utf8')
  const [start, end] = [`<!-- ${name}:start -->\n\n`, `\n<!-- ${name}:end -->`]
  const [from, to] = [text.indexOf(start) + start.length, text.indexOf(end)]
  if (from < start.length || to < from) throw new Error(`${page} has no marks for ${name}`)
  if (table !== undefined) await writeFile(path, text.slice(0, from) + table + text.slice(to))
  return text.slice(from, to)
}
