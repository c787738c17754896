// The fault matrix as a command: `pnpm faults [--short] [--rows 2,3,17] [--jobs 2] [--write]`
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { judge, type Verdict } from './judge.js'
import { FULL, SHORT } from './outage.js'
import { line, markdown, summary, withTable } from './report.js'
import type { Row } from './row.js'
import { rows } from './rows.js'

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    rows: { type: 'string' },
    jobs: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
})

const wanted = values.rows?.split(',').map((id) => id.trim())
const chosen = rows.filter(({ number, variant }) => {
  return wanted === undefined || wanted.includes(number) || wanted.includes(`${number} ${variant}`)
})
if (chosen.length === 0) {
  console.error(`no such rows: ${values.rows}`)
  process.exit(2)
}

const length = values.short ? SHORT : FULL
const verdicts = new Map<Row, Verdict>()

async function work(queue: Row[]): Promise<void> {
  for (let row = queue.shift(); row !== undefined; row = queue.shift()) {
    const verdict = await judge(row, length)
    verdicts.set(row, verdict)
    console.log(line(verdict))
  }
}

const shared = chosen.filter(({ alone }) => !alone)
await Promise.all(Array.from({ length: Number(values.jobs) }, () => work(shared)))
await work(chosen.filter(({ alone }) => alone))

const inOrder = chosen.map((row) => verdicts.get(row) as Verdict)
console.log(`\n${summary(inOrder)}`)
if (values.write) await write(markdown(inOrder))
process.exit(inOrder.some(({ state }) => state === 'failed') ? 1 : 0)

async function write(table: string): Promise<void> {
  const page = fileURLToPath(new URL('../../../docs/resilience.md', import.meta.url))
  await writeFile(page, withTable(await readFile(page, 'utf8'), table))
  console.log(`written to ${page}`)
}
