// The figures of results/algorithms.md, as a command: `pnpm figures [--short] [--write]`
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { redisVersion } from './machine.js'
import { keptTable } from './record.js'
import { tableText, withPart } from './report.js'
import { FULL, SHORT } from './scenario.js'
import { algorithms } from './scenarios/algorithms.js'

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
if (values.write && values.short) {
  console.error('--write is for a whole run')
  process.exit(2)
}
const page = fileURLToPath(new URL('../results/algorithms.md', import.meta.url))
const tables = await algorithms.measure(values.short ? SHORT : FULL)
const today = new Date().toISOString().slice(0, 10)
const text = [
  `Redis ${await redisVersion()}, Node ${process.version}, ${today}.`,
  ...tables.flatMap((table) => [`**${table.title}**`, tableText(keptTable(table))]),
].join('\n\n')
console.log(text)
if (values.write) await writeFile(page, withPart(await readFile(page, 'utf8'), 'figures', text))
