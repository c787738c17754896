// The bootstrap behind `npm start` and `npm test`: needs nothing but Node and npm. It fetches pnpm
// when absent, installs when the lockfile is newer than the installation, builds, and then starts
// the example or runs turbo.
//
//   node scripts/run.mjs start | test | <turbo task> [arguments for turbo]
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { redisServerBinary } from '../internal/testkit/servers/redis.mjs'
import { pnpmCommand } from './pnpm.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const windows = process.platform === 'win32'
const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1' }

// Ctrl-C goes to the whole process group: the child ends by itself, and its exit code is passed on.
process.on('SIGINT', () => {})

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
  // More at once would keep each other from the CPU, and deadlines are real.
  env.TURBO_CONCURRENCY ??= String(availableParallelism() + 1)
  say(`building, and testing on ${env.REDIS_SERVER_BIN}`)
  return turbo('build', 'test', '--continue=dependencies-successful', ...rest)
}

async function start() {
  say('building')
  const code = await turbo('build', '--output-logs=errors-only')
  if (code !== 0) return code
  say('starting examples/express (Ctrl-C ends it)')
  // Without pnpm in between, which would call Ctrl-C a failure.
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

/** pnpm keeps a copy of the lockfile that it installed from. */
function isInstalled() {
  const [wanted, present] = ['pnpm-lock.yaml', 'node_modules/.pnpm/lock.yaml'].map((file) => {
    const path = join(root, file)
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined
  })
  return wanted === present
}

/**
 * Runs to the end on this terminal, and resolves with the exit code: 128 + its number for a signal,
 * as shells do.
 */
function run(command, args, cwd = root) {
  const child = spawn(command, args, { cwd, env, stdio: 'inherit', shell: windows })
  process.on('SIGTERM', () => child.kill())
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
}

function say(text) {
  console.log(`weir: ${text}`)
}
