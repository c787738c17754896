// The benchmarks as a command: `pnpm bench [--only hot-key,refused] [--rounds 9] [--short] [--write]`
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { machine } from './machine.js'
import { EMPTY_PAGE, LEGEND, type Result, report, withReport } from './report.js'
import { FULL, type Scale, SHORT } from './scenario.js'
import { scenarios } from './scenarios.js'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    short: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})

const wanted = values.only?.split(',').map((id) => id.trim())
const chosen = scenarios.filter(({ id }) => wanted === undefined || wanted.includes(id))
const unknown = wanted?.filter((id) => scenarios.every((scenario) => scenario.id !== id)) ?? []
const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
if (unknown.length > 0 || (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0))) {
  console.error(
    `usage: pnpm bench [--only ${scenarios.map(({ id }) => id).join(',')}] [--rounds 9] [--short] [--write]`,
  )
  process.exit(2)
}
if (values.write && (wanted !== undefined || values.short)) {
  console.error('--write is for a whole run')
  process.exit(2)
}

const base = values.short ? SHORT : FULL
const scale: Scale =
  rounds === undefined ? base : { ...base, rounds, longRounds: Math.min(rounds, base.longRounds) }

const results: Result[] = []
for (const scenario of chosen) {
  const started = performance.now()
  results.push({ scenario, tables: await scenario.measure(scale) })
  console.error(`${scenario.id}: ${((performance.now() - started) / 1_000).toFixed(0)} s`)
}

const command = ['pnpm bench', ...process.argv.slice(2).filter((arg) => arg !== '--write')].join(' ')
const text = report(results, `${await machine(command)}\n\n${LEGEND}`)
console.log(`\n${text}`)
if (values.write) await write(text)
// Some peers keep timers.
process.exit(0)

async function write(written: string): Promise<void> {
  const page = fileURLToPath(new URL('../../../docs/benchmarks.md', import.meta.url))
  const before = existsSync(page) ? await readFile(page, 'utf8') : EMPTY_PAGE
  await writeFile(page, withReport(before, written))
  console.error(`written to ${page}`)
}
