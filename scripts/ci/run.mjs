// Runs steps of CI by name; without names, all that must hold before a change lands.
//
//   bash .ci/run [--list | STEP...]
//
// Steps run two at a time, those that wait for servers beside them, then those that judge real
// time, and last those that must be alone. Prints a line for each step that passes, the whole log
// of one that fails, and at the end the totals of vitest's summary lines.
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ALL, CHANGE, PREPARE, stepOf } from './steps.mjs'
import { addTotals, failuresIn, noTotals, warningsIn, withoutColour } from './vitest-output.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const begun = Date.now()
const work = mkdtempSync(join(tmpdir(), 'weir-ci-'))
// The README's commands run with an empty home folder, as on a new machine.
const home = join(work, 'home')
mkdirSync(home)
const common = { ...process.env, CI: 'true', NO_COLOR: '1', HOME: home }
const totals = noTotals()
/** Lines for the end: how long the commands of the README take. */
const figures = []
let logs = 0

const names = process.argv.slice(2)
if (names[0] === '--list') {
  console.log(ALL.join('\n'))
} else {
  let failed = 0
  try {
    failed = await runAll((names.length > 0 ? names : CHANGE).map(stepOf))
  } catch (error) {
    console.error(error.message)
    failed = 1
  }
  for (const figure of figures) console.log(figure)
  if (failed === 0) say('All passed', begun)
  process.exitCode = failed === 0 ? 0 : 1
  const { passed, failed: broken, skipped } = totals
  console.log(`tests: ${passed} passed, ${broken} failed, ${skipped} skipped`)
}
rmSync(work, { recursive: true, force: true })

/**
 * Steps that need no installation come first, so that what an installation brings cannot hide what
 * they miss. Of the rest, those that judge real time come last, one by one if they must be alone.
 * @returns {Promise<number>} how many have failed
 */
async function runAll(steps) {
  const bare = steps.filter((step) => step.bare)
  const rest = steps.filter((step) => !step.bare)
  let failed = await runEach(bare, 1)
  if (rest.length === 0) return failed
  installMissing(rest)
  const unprepared = await runEach([PREPARE], 1)
  if (unprepared > 0) return failed + unprepared
  const lanes = Math.min(2, availableParallelism())
  // Each lane has one core.
  const env = rest.length > 1 ? { VITEST_MAX_WORKERS: '1' } : {}
  const judging = rest.filter((step) => step.clock)
  const waiting = rest.filter((step) => step.waits)
  const alone = rest.filter((step) => step.alone)
  const computing = rest.filter((step) => !step.clock && !step.waits && !step.alone)
  for (const each of await Promise.all([runEach(computing, lanes, env), runEach(waiting, 1, env)]))
    failed += each
  failed += await runEach(judging, judging.length, env)
  return failed + (await runEach(alone, 1, env))
}

async function runEach(steps, lanes, env = {}) {
  const waiting = [...steps]
  let failed = 0
  const lane = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const from = Date.now()
      try {
        for (const command of step.commands)
          await runCommand(Array.isArray(command) ? { run: command } : command, env)
        say(step.title, from)
      } catch (error) {
        failed += 1
        console.error(`${error.message}\n`)
        say(`FAILED: ${step.title}`, from)
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return failed
}

function say(text, from) {
  const seconds = (since) => Math.round((Date.now() - since) / 1_000)
  console.log(`=== ${text} (${seconds(from)} s; ${seconds(begun)} s so far)`)
}

/** @throws {Error} whose message is the log */
async function runCommand(command, more) {
  const { run, cwd = '.', env = {}, tests = false, shown = false, figure } = command
  logs += 1
  const file = join(work, `${logs}.log`)
  const log = openSync(file, 'w')
  const own = typeof env === 'function' ? env() : env
  const child = spawn(run[0], run.slice(1), {
    cwd: join(root, cwd),
    env: { ...common, ...more, ...own },
    stdio: ['ignore', log, log],
  })
  const status = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  closeSync(log)
  const text = readFileSync(file, 'utf8')
  if (tests) addTotals(totals, text)
  const what = run.join(' ')
  if (status !== 0) throw new Error(`${text}${failuresIn(text)}${what}: exit code ${status}`)
  const warnings = tests ? warningsIn(text) : []
  if (warnings.length > 0)
    throw new Error(`${what}: warnings that are no test's subject:\n${warnings.join('\n')}`)
  const plain = withoutColour(text)
  if (shown) console.log(plain.trimEnd())
  if (figure !== undefined) figures.push(...plain.split('\n').filter((line) => figure.test(line)))
}

/** Installs the packages of missing commands. Debian and Ubuntu only. */
function installMissing(steps) {
  const folders = process.env.PATH.split(delimiter)
  const isThere = (command) =>
    folders.some((folder) => spawnSync('test', ['-x', join(folder, command)]).status === 0)
  const needs = Object.assign({}, ...steps.map((step) => step.needs))
  const packages = Object.keys(needs)
    .filter((command) => !isThere(command))
    .map((command) => needs[command])
  if (packages.length === 0) return
  console.log(`installing ${packages.join(', ')}`)
  // RUNLEVEL=1 keeps packages from starting services.
  const env = { ...common, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const asRoot = process.getuid() === 0 ? [] : ['sudo', '--preserve-env=DEBIAN_FRONTEND,RUNLEVEL']
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', ...packages]]) {
    const [command, ...before] = [...asRoot, 'apt-get', '-qq', ...args]
    const { status, stderr, stdout } = spawnSync(command, before, { env, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${stdout}${stderr}apt-get ${args[0]} failed`)
  }
}
