// The simulation as a command:
//
//   pnpm fleet [--seed 7] [--scenario frozen] [--requests 500000] [--minutes 10] [--first 1]
//     [--until-broken]
//
// A seed runs one story and prints its end; otherwise stories run, one seed after the other, until
// there were as many requests or minutes. Ends with 1 if a promise was broken.

import { parseArgs } from 'node:util'
import { writePages } from './bound-pages.js'
import { type Outcome, runScenario, SCENARIO_NAMES, type ScenarioName } from './scenarios.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    scenario: { type: 'string' },
    requests: { type: 'string' },
    minutes: { type: 'string' },
    first: { type: 'string' },
    'until-broken': { type: 'boolean' },
    write: { type: 'boolean' },
  },
})
const scenario = values.scenario as ScenarioName | undefined
if (scenario !== undefined && !SCENARIO_NAMES.includes(scenario)) {
  console.error(`there is no scenario ${scenario}; there are: ${SCENARIO_NAMES.join(', ')}`)
  process.exit(2)
}

if (values.write) await writePages(new URL('../../../../../../docs/', import.meta.url))
else if (values.seed !== undefined) {
  const outcome = await runScenario(Number(values.seed), scenario)
  for (const line of outcome.end) console.log(line)
  tell(outcome)
  process.exitCode = outcome.broken.length > 0 ? 1 : 0
} else await runMany()

async function runMany(): Promise<void> {
  const most = Number(values.requests ?? (values.minutes === undefined ? 100_000 : Infinity))
  const endMs = performance.now() + Number(values.minutes ?? Infinity) * 60_000
  const begunMs = performance.now()
  let requests = 0
  let broken = 0
  const sources: Record<string, number> = {}
  const over: Record<string, number> = {}
  let seed = Number(values.first ?? 1)
  for (; requests < most && performance.now() < endMs; seed += 1) {
    const outcome = await runScenario(seed, scenario)
    requests += outcome.requests
    for (const [source, count] of Object.entries(outcome.sources))
      sources[source] = (sources[source] ?? 0) + count
    over[outcome.scenario] = Math.max(over[outcome.scenario] ?? 0, outcome.over)
    if (outcome.broken.length > 0) {
      broken += 1
      tell(outcome)
      if (values['until-broken']) break
    }
    if (process.stderr.isTTY) process.stderr.write(`\r${requests} requests, ${broken} broken `)
  }
  const seconds = (performance.now() - begunMs) / 1_000
  const seeds = seed - Number(values.first ?? 1)
  console.log(
    `${requests} requests over ${seeds} seeds in ${seconds.toFixed(1)} s: ${broken} stories broke a promise`,
  )
  console.log(`decided by: ${textOf(sources)}; the most beyond a limit: ${textOf(over)}`)
  process.exitCode = broken > 0 ? 1 : 0
}

function textOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ')
}

function tell({ seed, scenario: name, requests, hash, broken }: Outcome): void {
  console.log(`seed ${seed}, ${name}: ${requests} requests, history ${hash}`)
  for (const each of broken.slice(0, 5)) console.log(`  broken: ${each}`)
}
