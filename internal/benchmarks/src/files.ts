// The record of the last whole run, and the pages and the chart that are generated from it.

import { readFile, writeFile } from 'node:fs/promises'
import { chartOf, partsOf } from './page.js'
import type { RunRecord } from './record.js'
import { report, withPart } from './report.js'

const PAGE = 'docs/benchmarks.md'
const NOTES = 'internal/benchmarks/results/README.md'
const TABLES = 'internal/benchmarks/results/tables.md'
const RECORD = 'internal/benchmarks/results/run.json'
const CHART = 'docs/images/benchmarks.svg'

export async function readRecord(): Promise<RunRecord> {
  return JSON.parse(await read(RECORD))
}

export async function writeRecord(record: RunRecord): Promise<void> {
  await writeFile(fileAt(RECORD), `${JSON.stringify(record, shortened, 2)}\n`)
}

/** The paths and texts of the files that show a record; they are not written yet. */
export async function filesOf(record: RunRecord): Promise<[path: string, text: string][]> {
  const { goals, figures } = report(record)
  let page = await read(PAGE)
  for (const [name, text] of Object.entries(partsOf(record))) page = withPart(page, name, text)
  return [
    [PAGE, page],
    [NOTES, withPart(await read(NOTES), 'goals', goals)],
    [TABLES, withPart(await read(TABLES), 'figures', figures)],
    [CHART, chartOf(record)],
  ]
}

export async function writeFiles(record: RunRecord): Promise<void> {
  for (const [path, text] of await filesOf(record)) await writeFile(fileAt(path), text)
}

export function fileAt(path: string): URL {
  return new URL(`../../../${path}`, import.meta.url)
}

function read(path: string): Promise<string> {
  return readFile(fileAt(path), 'utf8')
}

/** Rounds to eight digits, which counts need; more are noise. */
function shortened(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(8)) : value
}
