// The pages and the chart that a whole run writes.

import { readFile, writeFile } from 'node:fs/promises'
import { chartOf, partsOf } from './page.js'
import type { RunRecord } from './record.js'
import { report, withPart } from './report.js'

const PAGE = 'docs/benchmarks.md'
const NOTES = 'internal/benchmarks/results/README.md'
const CHART = 'docs/images/benchmarks.svg'

/** The paths and texts of the files that show a record; they are not written yet. */
async function filesOf(record: RunRecord): Promise<[path: string, text: string][]> {
  let page = await read(PAGE)
  for (const [name, text] of Object.entries(partsOf(record))) page = withPart(page, name, text)
  return [
    [PAGE, page],
    [NOTES, withPart(await read(NOTES), 'goals', report(record).goals)],
    [CHART, chartOf(record)],
  ]
}

export async function writeFiles(record: RunRecord): Promise<void> {
  for (const [path, text] of await filesOf(record)) await writeFile(fileAt(path), text)
}

function fileAt(path: string): URL {
  return new URL(`../../../${path}`, import.meta.url)
}

function read(path: string): Promise<string> {
  return readFile(fileAt(path), 'utf8')
}
