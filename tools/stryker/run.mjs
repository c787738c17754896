// A mutation run of the TypeScript of packages/core by Stryker (stryker.config.json).
//
//   node tools/stryker/run.mjs [part of a file name] [--tests parts,of,names] [--shard 3/24]
//
// A shard is every 24th file, beginning with the third; all shards together are a whole run.
// Mutants of layers/ and redis/ are also tested on a redis-server. That takes long, so name the
// tests when you look at one file: `deny-cache --tests deny-cache`. Needs a build.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tests: { type: 'string' }, shard: { type: 'string', default: '1/1' } },
})
const [part = ''] = positionals
const [first, shards] = values.shard.split('/').map(Number)
if (!(Number.isInteger(first) && Number.isInteger(shards) && first >= 1 && first <= shards))
  throw new Error(`--shard is "${values.shard}"; give one such as 3/24`)
const parts = values.tests?.split(',')
const tests = filesIn('packages/core/test').filter((file) => {
  return file.endsWith('.test.ts') && parts?.some((each) => file.includes(each))
})
const files = filesIn('packages/core/src').filter((file) => file.includes(part))
const mutable = files
  .filter((file) => file.endsWith('.ts') && !file.includes('.generated.'))
  .filter((_, i) => i % shards === first - 1)
const [ofRedis, ofUnits] = [true, false].map((onRedis) => {
  return mutable.filter((file) => /\/src\/(layers|redis)\//.test(file) === onRedis)
})
process.exitCode = Math.max(run(ofUnits, 'unit'), run(ofRedis, 'redis'))

function filesIn(folder) {
  return readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((file) => `${folder}/${file}`)
}

/** Runs Stryker on these files; `suites` selects the tests that vitest.config.js includes. */
function run(mutated, suites) {
  if (mutated.length === 0) return 0
  const stryker = `${root}tools/node_modules/@stryker-mutator/core/bin/stryker.js`
  const args = [stryker, 'run', '--mutate', mutated.join()]
  if (tests.length > 0) args.push('--testFiles', tests.join())
  const env = { ...process.env, WEIR_SUITES: suites }
  return spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' }).status ?? 1
}
