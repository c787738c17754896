// Runs `npm start` and `npm test`; needs nothing but Node and npm. It fetches pnpm if it is
// missing, installs if the lockfile is newer than the installation, builds, and then starts the
// example or runs turbo.
//
//   node scripts/run.mjs start | test | <turbo task> [arguments for turbo]
//   node scripts/run.mjs test --changed [COMMIT]    the tests for what has changed: changed.mjs
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, constants } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { redisServerBinary } from '../internal/testkit/servers/redis.mjs'
import { changedFiles, testsOf } from './changed.mjs'
import { workspacePackages } from './packages.mjs'
import { pnpmCommand } from './pnpm.mjs'
import { newSummary } from './summary.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const windows = process.platform === 'win32'
const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1' }

let isEnding = false
let running
// Ctrl-C reaches the whole process group: the child ends by itself, and its exit code is passed on.
process.on('SIGINT', () => {
  isEnding = true
})
process.on('SIGTERM', () => {
  isEnding = true
  running?.kill()
})

const pnpm = pnpmCommand()
const [task = 'start', ...rest] = process.argv.slice(2)
try {
  process.exitCode = await main()
} catch (error) {
  console.error(`weir: ${error.message}`)
  process.exitCode = 1
}

async function main() {
  if (!isInstalled()) {
    say(`installing the dependencies with ${pnpm.join(' ')}`)
    const code = await runPnpm('install', '--frozen-lockfile')
    if (code !== 0) return code
  }
  if (task === 'start') return start()
  if (task !== 'test') return turbo(task, ...rest)
  env.REDIS_SERVER_BIN = redisServerBinary()
  // More tasks at once would compete for the CPU, and the tests have real deadlines.
  env.TURBO_CONCURRENCY ??= String(availableParallelism() + 1)
  const [option, base = rest[1]] = (rest[0] ?? '').split('=')
  return option === '--changed' ? testChanged(base) : testAll()
}

async function testAll() {
  say(`building, and testing on ${env.REDIS_SERVER_BIN}`)
  // As on a terminal; on GitHub, turbo would group the lines of a package and omit its name.
  const lines = ['--log-order=stream', '--log-prefix=task']
  const args = ['build', 'test', '--continue=dependencies-successful', ...lines, ...rest]
  const [command, ...before] = pnpm
  return summed((read) => run(command, [...before, 'exec', 'turbo', 'run', ...args], root, read))
}

/** @param base a commit; if undefined, the one where this branch left main */
async function testChanged(base) {
  const wanted = testsOf(changedFiles(base))
  if (wanted.length === 0) {
    say('nothing has changed; for all tests: npm test')
    return 0
  }
  say(`building, and testing what has changed on ${env.REDIS_SERVER_BIN}`)
  const filters = wanted.map(({ name }) => `--filter=${name}`)
  const built = await turbo('build', '--output-logs=errors-only', ...filters)
  if (built !== 0) return built
  return summed(async (read) => {
    let worst = 0
    for (const { name, folder, runs } of wanted) {
      for (const args of isEnding ? [] : runs) {
        const code = await vitest(join(root, folder), args, (line) => read(`${name}:test: ${line}`))
        worst = Math.max(worst, code)
      }
    }
    say('these were the tests that a change reaches at once; for all of them: npm test')
    return worst
  })
}

function vitest(folder, args, read) {
  const path = createRequire(join(folder, 'package.json')).resolve('vitest/package.json')
  const command = join(dirname(path), 'vitest.mjs')
  return run(process.execPath, [command, ...args, '--passWithNoTests'], folder, read)
}

/** Runs tests, shows and reads their output, and ends with a summary. */
async function summed(start) {
  const begun = performance.now()
  const summary = newSummary()
  const code = await start((line) => {
    console.log(line)
    summary.read(line)
  })
  const folders = workspacePackages()
  const folderOf = (name) => folders.get(name) ?? '.'
  const tookMs = performance.now() - begun
  console.log()
  for (const line of summary.lines({ code, tookMs, folderOf })) say(line)
  return code
}

async function start() {
  say('building')
  const code = await turbo('build', '--output-logs=errors-only')
  if (code !== 0) return code
  say('starting examples/express (Ctrl-C ends it)')
  // Without pnpm, which would report Ctrl-C as a failure.
  const folder = join(root, 'examples', 'express')
  const ended = await run(process.execPath, ['src/server.js'], folder)
  if (ended === 0) say('the example has ended')
  return ended
}

function turbo(...args) {
  return runPnpm('exec', 'turbo', 'run', ...args)
}

function runPnpm(...args) {
  const [command, ...before] = pnpm
  return run(command, [...before, ...args])
}

/** Compares the lockfile with the copy that pnpm keeps of the one it installed. */
function isInstalled() {
  const [wanted, present] = ['pnpm-lock.yaml', 'node_modules/.pnpm/lock.yaml'].map((file) => {
    const path = join(root, file)
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined
  })
  return wanted === present
}

/**
 * Runs a command. Resolves with its exit code; for a signal, 128 + its number, as in shells.
 * @param read takes each line of output; without it, the output goes to this terminal
 */
function run(command, args, cwd = root, read = undefined) {
  const out = read === undefined ? 'inherit' : 'pipe'
  const colours = process.stdout.isTTY && read !== undefined ? { FORCE_COLOR: '1' } : {}
  const child = spawn(command, args, {
    cwd,
    env: { ...env, ...colours },
    stdio: ['inherit', out, out],
    shell: windows,
  })
  for (const stream of read === undefined ? [] : [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', read)
  running = child
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
}

function say(text) {
  console.log(`weir: ${text}`)
}
