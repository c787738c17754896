// The tables of bounds in the documents: `pnpm fleet --write` writes them, and test/bounds.test.ts
// fails when the documents differ.

import { readFile, writeFile } from 'node:fs/promises'
import { algorithmsText } from './algorithm-rows.js'
import { lossesText } from './loss-rows.js'

/** The text between the marks of a part, in pages of docs/. */
export interface WrittenPart {
  readonly page: string
  readonly part: string
  readonly text: () => string
}

export const writtenParts: readonly WrittenPart[] = [
  { page: 'algorithms.md', part: 'bounds', text: algorithmsText },
  { page: 'resilience.md', part: 'losses', text: lossesText },
]

/** @param docs the folder, with a trailing slash */
export async function writePages(docs: URL): Promise<void> {
  for (const { page, part, text } of writtenParts) {
    const file = new URL(page, docs)
    await writeFile(file, withPart(await readFile(file, 'utf8'), part, text()))
  }
}

/** The page, with the text between the marks of a part replaced. */
export function withPart(page: string, part: string, text: string): string {
  const [start, end] = [`<!-- ${part}:start -->`, `<!-- ${part}:end -->`]
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`the page has no place for ${start} ... ${end}`)
  return `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`
}
