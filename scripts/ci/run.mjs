// Runs steps of CI by name; without names, all that must hold before a change lands.
//
//   bash .ci/run [--list | STEP...]
//
// Prints a line for each step that passes, the whole log of one that fails, and at the end the
// totals of vitest's summary lines.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ALL, CHANGE, stepOf } from './steps.mjs'
import { addTotals, failuresIn, noTotals, warningsIn, withoutColour } from './vitest-output.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const begun = Date.now()
const work = mkdtempSync(join(tmpdir(), 'weir-ci-'))
// The README's commands run with an empty home folder, as on a new machine.
const home = join(work, 'home')
mkdirSync(home)
const common = { ...process.env, CI: 'true', NO_COLOR: '1', HOME: home }
const totals = noTotals()

const names = process.argv.slice(2)
if (names[0] === '--list') {
  console.log(ALL.join('\n'))
} else {
  try {
    const steps = (names.length > 0 ? names : CHANGE).map(stepOf)
    for (const step of steps) runStep(step)
    say('All passed')
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  } finally {
    const { passed, failed, skipped } = totals
    console.log(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`)
  }
}
rmSync(work, { recursive: true, force: true })

function runStep({ title, needs = {}, commands }) {
  say(title)
  installMissing(needs)
  for (const command of commands) runCommand(Array.isArray(command) ? { run: command } : command)
}

function say(text) {
  console.log(`=== ${text} (${Math.round((Date.now() - begun) / 1_000)} s so far)`)
}

/** @throws {Error} whose message is the log */
function runCommand({ run, cwd = '.', env = {}, tests = false, shown = false }) {
  const file = join(work, 'step.log')
  const log = openSync(file, 'w')
  const more = typeof env === 'function' ? env() : env
  const { status, error } = spawnSync(run[0], run.slice(1), {
    cwd: join(root, cwd),
    env: { ...common, ...more },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const text = readFileSync(file, 'utf8')
  if (tests) addTotals(totals, text)
  const what = run.join(' ')
  if (status !== 0)
    throw new Error(`${text}${failuresIn(text)}${what}: ${error?.message ?? `exit code ${status}`}`)
  const warnings = tests ? warningsIn(text) : []
  if (warnings.length > 0)
    throw new Error(`${what}: warnings that are no test's subject:\n${warnings.join('\n')}`)
  if (shown) console.log(withoutColour(text).trimEnd())
}

/** Installs the packages of missing commands. Debian and Ubuntu only. */
function installMissing(needs) {
  const folders = process.env.PATH.split(delimiter)
  const isThere = (command) =>
    folders.some((folder) => spawnSync('test', ['-x', join(folder, command)]).status === 0)
  const missing = Object.keys(needs).filter((command) => !isThere(command))
  if (missing.length === 0) return
  const packages = missing.map((command) => needs[command])
  console.log(`installing ${packages.join(', ')}`)
  // RUNLEVEL=1 keeps packages from starting services.
  const env = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const keep = `--preserve-env=${Object.keys(env).join()}`
  const asRoot = process.getuid() === 0 ? [] : ['sudo', keep]
  const aptGet = (...args) => runCommand({ run: [...asRoot, 'apt-get', '-qq', ...args], env })
  aptGet('update')
  aptGet('install', '--yes', '--no-install-recommends', ...packages)
}
