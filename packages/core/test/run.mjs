// Runs core's tests: those without Redis, and then those with it, in two halves in parallel, each
// with its own servers. `node test/run.mjs [--redis-only] [files]`
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const core = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)
const vitest = join(dirname(require.resolve('vitest/package.json')), 'vitest.mjs')
const isRedisOnly = process.argv.includes('--redis-only')
const files = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))

const unit = isRedisOnly ? 0 : await run(['--project', 'unit'])
const halves = await Promise.all(
  ['1/2', '2/2'].map((half) => run(['--project', 'redis', `--shard=${half}`, ...files])),
)
process.exitCode = [unit, ...halves].find((code) => code !== 0) ?? 0

/** Resolves to the exit code. Prints the output of a run when it has ended. */
function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [vitest, 'run', ...args], { cwd: core })
    const printed = []
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (some) => printed.push(some))
    child.on('close', (code) => {
      process.stdout.write(Buffer.concat(printed))
      resolve(code ?? 1)
    })
  })
}
