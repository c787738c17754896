// Puts faults into the product on purpose, to see that the simulation finds them. Each fault is put
// into a copy of the sources, which is built and simulated until a promise breaks.
//
//   node internal/fleet/sabotage.mjs [--only 3,7] [--requests 500000]
//
// Prints how many simulated requests each fault took, and the smallest story that shows it. Exits
// with 1 if a fault was not found.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { FAULTS } from './sabotage-faults.mjs'

const { values } = parseArgs({
  options: { only: { type: 'string' }, requests: { type: 'string', default: '500000' } },
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

/** Returns undefined if the fault was not found. */
function requestsUntilFound([what, file, from, to, scenario, options]) {
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
    if (options !== undefined) args.push('--options', JSON.stringify(options))
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
