// Faults put into the product on purpose, to see that the simulation finds them: each in a copy of
// the sources, which is built and simulated until a promise breaks.
//
//   node internal/fleet/sabotage.mjs [--only 3,7] [--requests 200000]
//
// Prints how many simulated requests each took, and the smallest story that shows it. Ends with 1
// if one was not found.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const RESILIENCE = 'layers/resilience'

/**
 * What is wrong; the file in packages/core/src; what stands there, and what takes its place. If few
 * stories come by it: the scenario of those that are simulated.
 */
const FAULTS = [
  [
    'what was admitted in an outage is not counted afterwards',
    `${RESILIENCE}/recovery.ts`,
    '      failure = await this.#failureOf(request)\n      if',
    '      failure = undefined\n      if',
  ],
  [
    'what Redis has lost is not restored',
    `${RESILIENCE}/resilience.ts`,
    "    this.#send(restoring(target, before), restored, 'self')",
    '    void restored',
  ],
  [
    'what Redis has lost is restored by half',
    `${RESILIENCE}/last-seen.ts`,
    "    Math.max(0, limit - (remaining[i] as number)),\n  )\n  return { mode: 'restore'",
    "    Math.floor(Math.max(0, limit - (remaining[i] as number)) / 2),\n  )\n  return { mode: 'restore'",
  ],
  [
    'an outage begins with a new budget',
    `${RESILIENCE}/fallback.ts`,
    '    if (seen !== undefined) this.#carryOver(request.target, local, seen)\n',
    '',
  ],
  [
    'the part of a limit is the whole of it',
    `${RESILIENCE}/peers.ts`,
    '  const whole = Math.floor(units / count)\n',
    '  if (count > 0) return units\n  const whole = Math.floor(units / count)\n',
  ],
  [
    'a decision may take twice as long',
    `${RESILIENCE}/deadlines.ts`,
    '    this.#afterMs = afterMs\n',
    '    this.#afterMs = 2 * afterMs\n',
  ],
  [
    'the quota is no ceiling while a node is half-open',
    `${RESILIENCE}/resilience.ts`,
    "    else if (guard.breaker.state === 'half-open') this.#sendUnderCeiling(request, pending, guard)\n",
    '',
  ],
  [
    'a decision is counted twice',
    'limiter/pending-decision.ts',
    '  countDecision(request, result, binding, place, decision.reason)\n',
    '  countDecision(request, result, binding, place, decision.reason)\n  countDecision(request, result, binding, place, decision.reason)\n',
  ],
  [
    'a fixed window overlooks a unit',
    'algorithms/fixed-window/kernel.ts',
    '  used: ({ count }) => count,',
    '  used: ({ count }) => Math.max(0, count - 1),',
  ],
  [
    'the driver grants one unit too many',
    'algorithms/driver.ts',
    '    if (!judges || left >= granted * cost) continue',
    '    if (!judges || left + 1 >= granted * cost) continue',
  ],
  [
    'of equal requests of a call all are granted if one is',
    'redis/transport/call.ts',
    '    const own = i < granted ? 1 : 0',
    '    const own = granted > 0 ? 1 : 0',
  ],
  [
    'what Redis denies is told as granted',
    'redis/transport/call.ts',
    '    const own = Math.min(granted, request.count)\n    first.decided',
    '    const own = request.count\n    first.decided',
  ],
  [
    'a log charges a unit less where several are taken',
    'algorithms/sliding-log/kernel.ts',
    '  const added = Math.min(units, MAX_UNITS - usedOf(scratch))\n',
    '  const added = Math.min(units > 1 ? units - 1 : units, MAX_UNITS - usedOf(scratch))\n',
  ],
  [
    'what is last seen is never remembered',
    `${RESILIENCE}/last-seen.ts`,
    '    if (!isThere) this.#add(target, nowUs)\n    this.#write(result)\n    return lost',
    '    return lost',
  ],
  [
    'a request that failed is decided, and its failure told as well',
    `${RESILIENCE}/guarded-request.ts`,
    '    if (this.isDone) return\n    this.isDone = true\n    this.sent.failed(this, error)',
    '    this.isDone = true\n    this.sent.failed(this, error)',
  ],
  [
    'a breaker closes at once',
    `${RESILIENCE}/breaker.ts`,
    'export const RETURN_MS = 5_000',
    'export const RETURN_MS = 1',
  ],
  [
    'the nodes of a Cluster share a breaker',
    `${RESILIENCE}/recovery.ts`,
    '  readonly guardOf: (node: BackendNode) => Guard = memoized((node) => {\n',
    '  readonly guardOf: (node: BackendNode) => Guard = memoized((node) => {\n    if (this.#guards[0] !== undefined) return this.#guards[0]\n',
  ],
  [
    'no quota is a ceiling where a replica takes over',
    `${RESILIENCE}/recovery.ts`,
    '    guard.breaker.returned(time.nowMs())\n',
    '',
    'cluster, replica',
  ],
  [
    'requests of a call whose keys are at two nodes are not asked one by one',
    'redis/transport/exchange.ts',
    '    if (mustSplit(error) && call.entries.length > 1) {',
    '    if (mustSplit(error) && call.entries.length > 100) {',
    'cluster, resharding',
  ],
  [
    'of requests that are asked one by one the first is forgotten',
    'redis/transport/exchange.ts',
    '      this.#options.send(call.entries.map((entry) => ({ ...call, entries: [entry] })))',
    '      this.#options.send(call.entries.slice(1).map((entry) => ({ ...call, entries: [entry] })))',
    'cluster, resharding',
  ],
  [
    'requests share a call whatever the slots of their keys are',
    'redis/transport/batching.ts',
    '    const slot = nodes.slotOf(target)\n',
    '    const slot = Math.min(nodes.slotOf(target), 1)\n',
  ],
]

const { values } = parseArgs({
  options: { only: { type: 'string' }, requests: { type: 'string', default: '200000' } },
})
const only = values.only?.split(',').map(Number)
const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'weir-sabotage-'))
let missed = 0
try {
  copySources()
  for (const [i, fault] of FAULTS.entries()) {
    const number = i + 1
    if (only !== undefined && !only.includes(number)) continue
    const found = requestsUntilFound(fault)
    if (found === undefined) missed += 1
    console.log(`${number}. ${fault[0]}: ${found ?? `not found in ${values.requests} requests`}`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = missed === 0 ? 0 : 1

function copySources() {
  for (const part of ['packages/core/src', 'internal/fleet/src'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  for (const file of ['tsconfig.base.json', 'internal/fleet/tsconfig.build.json'])
    cpSync(join(root, file), join(folder, file))
  for (const file of ['packages/core/package.json', 'internal/fleet/package.json'])
    cpSync(join(root, file), join(folder, file))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const modules = 'internal/fleet/node_modules'
  symlinkSync(join(root, modules), join(folder, modules))
}

/** Undefined: it was not found. */
function requestsUntilFound([what, file, from, to, scenario]) {
  const path = join(folder, 'packages/core/src', file)
  const before = readFileSync(path, 'utf8')
  const after = before.replace(from, to)
  if (after === before) throw new Error(`"${what}" finds nothing to change in ${file}`)
  writeFileSync(path, after)
  try {
    const fleet = join(folder, 'internal/fleet')
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--noCheck'], { cwd: fleet })
    const run = join(fleet, 'dist/internal/fleet/src/run.js')
    const args = [run, '--requests', values.requests, '--until-broken']
    if (scenario !== undefined) args.push('--scenario', scenario)
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    if (status === 0) return undefined
    const promise = /broken: (.*)/.exec(stdout)?.[1] ?? 'it ended by itself'
    const requests = /(\d+) requests over/.exec(stdout)?.[1] ?? '?'
    const smallest = /(\d+) requests instead of (\d+)/.exec(stdout)
    const again = /--seed .*/.exec(stdout)?.[0]
    const story = smallest ? `\n   in ${smallest[1]} requests, of ${smallest[2]}: ${again}` : ''
    return `${requests} requests (${promise})${story}`
  } finally {
    writeFileSync(path, before)
  }
}
