// The benchmarks as a command: `pnpm bench [--only hot-key,refused] [--rounds 9] [--short]
// [--one-core] [--reference 2d54f0d] [--write]`
import { parseArgs } from 'node:util'
import { writeFiles } from './files.js'
import { machine } from './machine.js'
import { type Result, recordOf, sectionOf } from './record.js'
import { LEGEND, report, sectionText } from './report.js'
import { FULL, type Scale, SHORT } from './scenario.js'
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
const all = [...scenarios, versions]
const chosen = wanted === undefined ? scenarios : all.filter(({ id }) => wanted.includes(id))
const unknown = wanted?.filter((id) => all.every((scenario) => scenario.id !== id)) ?? []
const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
if (unknown.length > 0 || (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0))) {
  console.error(
    `usage: pnpm bench [--only ${all.map(({ id }) => id).join(',')}] [--rounds 9] [--short] [--one-core] [--reference 2d54f0d] [--write]`,
  )
  process.exit(2)
}
if (values.write && (values.short || wanted !== undefined)) {
  console.error('--write is for a whole run')
  process.exit(2)
}

const base: Scale = {
  ...(values.short ? SHORT : FULL),
  oneCore: values['one-core'],
  reference: values.reference,
}
const scale: Scale = rounds === undefined ? base : { ...base, rounds }

const results: Result[] = []
for (const scenario of chosen) {
  const started = performance.now()
  const result = { scenario, tables: await scenario.measure(scale) }
  results.push(result)
  // Printed at once, so that a failure of a later scenario does not lose it.
  console.log(`${sectionText(sectionOf(result))}\n`)
  console.error(`${scenario.id}: ${((performance.now() - started) / 1_000).toFixed(0)} s`)
}

const command = ['pnpm bench', ...process.argv.slice(2).filter((arg) => arg !== '--write')].join(
  ' ',
)
const found = recordOf(results, await machine(command))
console.log(`${found.measured}\n\n${LEGEND}\n\n${report(found).goals}`)
if (values.write) {
  await writeFiles(found)
  console.error('written: internal/benchmarks/results, docs/benchmarks.md and its chart')
}
// Some peers have timers that keep the process alive.
process.exit(0)
