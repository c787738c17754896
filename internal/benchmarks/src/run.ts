// The benchmarks as a command: `pnpm bench [--only hot-key,refused] [--rounds 9] [--short]
// [--one-core] [--reference 2d54f0d] [--write]`
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { machine } from './machine.js'
import { LEGEND, type Result, report, sectionText, withReport } from './report.js'
import { FULL, type Scale, SHORT } from './scenario.js'
import { algorithms } from './scenarios/algorithms.js'
import { clients } from './scenarios/clients.js'
import { hotFleet } from './scenarios/hot-fleet.js'
import { phases } from './scenarios/phases.js'
import { versions } from './scenarios/versions.js'
import { scenarios } from './scenarios.js'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    short: { type: 'boolean', default: false },
    'one-core': { type: 'boolean', default: false },
    reference: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})

const wanted = values.only?.split(',').map((id) => id.trim())
const all = [...scenarios, clients, algorithms, phases, versions, hotFleet]
const chosen = wanted === undefined ? scenarios : all.filter(({ id }) => wanted.includes(id))
const unknown = wanted?.filter((id) => all.every((scenario) => scenario.id !== id)) ?? []
const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
if (unknown.length > 0 || (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0))) {
  console.error(
    `usage: pnpm bench [--only ${all.map(({ id }) => id).join(',')}] [--rounds 9] [--short] [--one-core] [--reference 2d54f0d] [--write]`,
  )
  process.exit(2)
}
if (values.write && (wanted !== undefined || values.short)) {
  console.error('--write is for a whole run')
  process.exit(2)
}

const base: Scale = {
  ...(values.short ? SHORT : FULL),
  oneCore: values['one-core'],
  reference: values.reference,
}
const scale: Scale =
  rounds === undefined ? base : { ...base, rounds, longRounds: Math.ceil(rounds / 3) }

// Before anything is measured for half an hour, there must be a place for it.
const page = fileURLToPath(new URL('../../../docs/benchmarks.md', import.meta.url))
if (values.write) withReport(await readFile(page, 'utf8'), { goals: '', figures: '' })

const results: Result[] = []
for (const scenario of chosen) {
  const started = performance.now()
  const result = { scenario, tables: await scenario.measure(scale) }
  results.push(result)
  // At once, so that what was measured is not lost with a later scenario that fails.
  console.log(`${sectionText(result)}\n`)
  console.error(`${scenario.id}: ${((performance.now() - started) / 1_000).toFixed(0)} s`)
}

const command = ['pnpm bench', ...process.argv.slice(2).filter((arg) => arg !== '--write')].join(
  ' ',
)
const head = `${await machine(command)}\n\n${LEGEND}`
const { goals, figures } = report(results, head)
console.log(`${head}\n\n${goals}`)
if (values.write) {
  await writeFile(page, withReport(await readFile(page, 'utf8'), { goals, figures }))
  console.error(`written to ${page}`)
}
// Some peers keep timers.
process.exit(0)
