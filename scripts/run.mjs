// Runs `npm start`, `npm test` and `npm run playground`; needs nothing but Node and npm. It fetches
// pnpm if it is missing, installs what the command needs if that is not installed yet, builds, and
// then starts the example or the tests, or says where the playground is.
//
//   node scripts/run.mjs start
//   node scripts/run.mjs playground
//   node scripts/run.mjs test [arguments for vitest]
//   node scripts/run.mjs build [PACKAGE...]                  all, with declarations
//   node scripts/run.mjs exec COMMAND...                     a command of maintainers, such as knip
import { spawn } from 'node:child_process'
import { availableParallelism, constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { redisServerBinary } from '../internal/testkit/servers/redis.mjs'
import { buildScripts } from './builds.mjs'
import { CHANGE } from './ci/steps.mjs'
import { installation, remember } from './installation.mjs'
import { root } from './packages.mjs'
import { pnpmCommand } from './pnpm.mjs'
import { foldersOf } from './projects.mjs'

const windows = process.platform === 'win32'
const tools = join(root, 'tools', 'node_modules', '.bin')
const env = {
  ...process.env,
  PATH: `${tools}${delimiter}${process.env.PATH}`,
  TURBO_TELEMETRY_DISABLED: '1',
  TURBO_NO_UPDATE_NOTIFIER: '1',
  TURBO_GLOBAL_WARNING_DISABLED: '1',
}
const EXAMPLE = 'examples/express'
const PLAYGROUND = 'packages/simulate'

const running = new Set()
// Ctrl-C reaches the whole process group: the child ends by itself, and its exit code is passed on.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {
  for (const child of running) child.kill()
})

const tasks = { start, playground, test, build, exec }
const [task = 'start', ...rest] = process.argv.slice(2)
try {
  process.exitCode = await tasks[task](...rest)
} catch (error) {
  console.error(`weir: ${error.message}`)
  process.exitCode = 1
}

async function start() {
  const ready = (await install('start')) || (await buildJavaScript([EXAMPLE]))
  if (ready !== 0) return ready
  say('starting examples/express (Ctrl-C ends it)')
  // Without pnpm, which would report Ctrl-C as a failure.
  const ended = await run(process.execPath, ['src/server.js'], join(root, EXAMPLE))
  if (ended === 0) say('the example has ended')
  return ended
}

/** Its package has tests: what they need is enough for it. */
async function playground() {
  const ready = (await install('test')) || (await buildJavaScript([PLAYGROUND]))
  return ready || run(process.execPath, [`${PLAYGROUND}/playground/build.mjs`])
}

async function test(...args) {
  const times = []
  const timed = async (what, done) => {
    const from = performance.now()
    const code = await done()
    times.push(`${what} in ${Math.round((performance.now() - from) / 1_000)} s`)
    return code
  }
  env.REDIS_SERVER_BIN = redisServerBinary()
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const code =
    (await timed('installed', () => install('test'))) ||
    (await timed('built', () => buildJavaScript(foldersOf('test')))) ||
    (await timed('tested', () => run(process.execPath, [vitest, 'run', ...args])))
  const others = CHANGE.filter((name) => name !== 'test')
  say(times.join(', '))
  say(`not run: ${others.join(', ')}. One: bash .ci/run ${others[0]}. All: bash .ci/run`)
  return code
}

async function build(...names) {
  const args = names.map((name) => `--filter=${name}`)
  return exec('turbo', 'run', 'build', '--output-logs=errors-only', ...args)
}

/** By pnpm, which turbo looks for on PATH. */
async function exec(...args) {
  const [command, ...before] = pnpmCommand()
  return (await install('all')) || run(command, [...before, 'exec', ...args])
}

/** @param {'start' | 'test' | 'all'} wanted */
async function install(wanted) {
  const args = installation(wanted)
  if (args === undefined) return 0
  const [command, ...before] = pnpmCommand()
  say(`installing what ${wanted === 'all' ? 'maintainers need' : `npm ${wanted} needs`}`)
  const code = await run(command, [...before, 'install', '--frozen-lockfile', ...args])
  if (code === 0) remember(wanted)
  return code
}

/** Builds by the bundler alone: no package waits for another one, and no declarations are made. */
async function buildJavaScript(folders) {
  say('building')
  env.WEIR_BUILD = 'javascript'
  const waiting = buildScripts(folders)
  const builders = Array.from({ length: availableParallelism() }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const code = await run(next.script, [], join(root, next.folder), true)
      if (code !== 0) return code
    }
    return 0
  })
  const codes = await Promise.all(builders)
  env.WEIR_BUILD = undefined
  return Math.max(...codes)
}

/** Runs a command. Resolves with its exit code; for a signal, 128 + its number, as in shells. */
function run(command, args, cwd = root, isScript = windows) {
  const child = spawn(command, args, { cwd, env, stdio: 'inherit', shell: isScript })
  running.add(child)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      running.delete(child)
      resolve(code ?? 128 + constants.signals[signal])
    })
  })
}

function say(text) {
  console.log(`weir: ${text}`)
}
