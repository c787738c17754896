// The simulation as a command:
//
//   pnpm fleet [--seed 7] [--scenario frozen] [--requests 500000] [--minutes 10] [--first 1]
//     [--options '{"processes":2}'] [--until-broken] [--each]
//   pnpm fleet --write
//
// With a seed, it runs one story and prints its end. Otherwise it runs stories, one seed after
// another, until the given number of requests or minutes is reached, or Ctrl-C. Options
// (fleet/choices.ts) replace those of a seed. A story that breaks a promise is made as small as
// possible. Exits with 1 if a promise was broken. `--each` prints a line for each story. `--write`
// writes the tables of bounds into the documents.

import { setImmediate as turn } from 'node:timers/promises'
import { type Command, commandOf } from './command.js'
import { writePages } from './promises/bound-pages.js'
import { foundText } from './stories/found.js'
import { type Outcome, runScenario, smallestOf } from './stories/scenarios.js'
import { promiseOf, shrink } from './stories/shrink.js'

/** What stories do on purpose. */
const EXPECTED = [
  'WEIR_CHANGED_ALGORITHM',
  'WEIR_PEERS_UNKNOWN',
  'WEIR_SETTINGS_LOST',
  'WEIR_SETTINGS_UNREAD',
  'WEIR_STORE_DEGRADED',
]

const emitWarning = process.emitWarning.bind(process) as (...given: unknown[]) => void
process.emitWarning = (...given: unknown[]) => {
  if (!EXPECTED.includes((given[1] as { code?: string } | undefined)?.code ?? ''))
    emitWarning(...given)
}

const command = checked()
if (command.write) await writePages(new URL('../../../../../../docs/', import.meta.url))
else if (command.seed === undefined) await runMany(command)
else await runOne(command.seed, command)

function checked(): Command {
  try {
    return commandOf(process.argv.slice(2))
  } catch (error) {
    console.error((error as Error).message)
    process.exit(2)
  }
}

async function runOne(seed: number, { scenario, options }: Command): Promise<void> {
  const outcome = await runScenario(seed, scenario, options)
  for (const line of outcome.end) console.log(line)
  tell(outcome)
  if (outcome.broken.length === 0) return
  await tellSmallest(outcome)
  process.exitCode = 1
}

async function runMany({ scenario, options, ...until }: Command): Promise<void> {
  const begunMs = performance.now()
  const elapsedMs = (): number => performance.now() - begunMs
  const sources: Record<string, number> = {}
  const over: Record<string, number> = {}
  const toldPromises = new Set<string>()
  let requests = 0
  let broken = 0
  let seed = until.first
  let isEnded = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      isEnded = true
    })
  const isOver = (): boolean =>
    isEnded ||
    requests >= until.requests ||
    elapsedMs() >= until.minutes * 60_000 ||
    (until['until-broken'] && broken > 0)
  for (; !isOver(); seed += 1) {
    // Stories run in virtual time, so nothing else gives signals a turn.
    await turn()
    const outcome = await runScenario(seed, scenario, options)
    requests += outcome.requests
    for (const [source, count] of Object.entries(outcome.sources))
      sources[source] = (sources[source] ?? 0) + count
    over[outcome.scenario] = Math.max(over[outcome.scenario] ?? 0, outcome.over)
    const [first] = outcome.broken
    if (until.each || first !== undefined) tell(outcome)
    if (first !== undefined) {
      broken += 1
      // Reports each promise once, since many seeds may find the same fault.
      const promise = `${outcome.scenario} ${promiseOf(first)}`
      if (!toldPromises.has(promise)) await tellSmallest(outcome)
      toldPromises.add(promise)
    }
  }
  const seconds = (elapsedMs() / 1_000).toFixed(1)
  console.log(
    `${requests} requests over ${seed - until.first} seeds in ${seconds} s: ${broken} stories broke a promise`,
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

async function tellSmallest(found: Outcome): Promise<void> {
  const { scenario } = found
  const { outcome, tried } = await shrink(found, smallestOf(scenario), (seed, options) =>
    runScenario(seed, scenario, options),
  )
  console.log(
    `  smallest of ${tried} stories: ${outcome.requests} requests instead of ${found.requests}`,
  )
  console.log(foundText(outcome))
}
