// The benchmarks as a command: `pnpm bench [--only hot-key,alone] [--rounds 9] [--short]
// [--one-core] [--reference 2d54f0d] [--write]`
import { parseArgs } from 'node:util'
import { otherServer } from '@weir/testkit'
import { machine } from './machine.js'
import { writePage } from './page.js'
import { LEGEND, type Result, sectionText } from './report.js'
import { FULL, type Scale, SHORT } from './scenario.js'
import { frameworks } from './scenarios/frameworks.js'
import { servers } from './scenarios/servers.js'
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
const all = [...scenarios, versions, servers, frameworks]
const chosen = wanted === undefined ? scenarios : all.filter(({ id }) => wanted.includes(id))
const unknown = wanted?.filter((id) => all.every((scenario) => scenario.id !== id)) ?? []
const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
if (unknown.length > 0 || (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0))) {
  console.error(
    `usage: pnpm bench [--only ${all.map(({ id }) => id).join(',')}] [--rounds 9] [--short] [--one-core] [--reference 2d54f0d] [--write]`,
  )
  process.exit(2)
}
const isWhole = wanted === undefined && !values.short
if (values.write && !isWhole) {
  console.error('--write is for a whole run')
  process.exit(2)
}

const base: Scale = {
  ...(values.short ? SHORT : FULL),
  onValkey: isWhole,
  oneCore: values['one-core'],
  reference: values.reference,
}
const scale: Scale = rounds === undefined ? base : { ...base, rounds }

if (isWhole) process.env.REDIS_SERVER_BIN ??= otherServer('redis', 'newest')
const results: Result[] = []
for (const scenario of chosen) {
  const started = performance.now()
  const result = { scenario, tables: await scenario.measure(scale) }
  results.push(result)
  // Printed at once, so that a failure of a later scenario does not lose it.
  console.log(`${sectionText(result)}\n`)
  console.error(`${scenario.id}: ${((performance.now() - started) / 1_000).toFixed(0)} s`)
}

const command = ['pnpm bench', ...process.argv.slice(2).filter((arg) => arg !== '--write')].join(
  ' ',
)
const measured = await machine(command, isWhole)
console.log(`${measured}\n\n${LEGEND}`)
if (values.write) {
  await writePage(results, measured)
  console.error('written: docs/benchmarks.md')
}
// Some peers have timers that keep the process alive.
process.exit(0)
