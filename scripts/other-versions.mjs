// Runs tests on what differs from a plain `npm test`: the newest Node, other servers, ioredis 5,
// and other clients. The jobs of .github/workflows/ci.yml run `npm test` on each Node.
//
//   node scripts/other-versions.mjs                every server with every client
//   node scripts/other-versions.mjs newest-valkey  one of SERVERS
//   node scripts/other-versions.mjs --short        what differs most, on the newest servers
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { newestNode, nodeBinary } from '../internal/testkit/servers/node.mjs'
import {
  newestServerBinary,
  redisServerBinary,
  valkeyServerBinary,
  version,
} from '../internal/testkit/servers/redis.mjs'
import { root } from './packages.mjs'

const SERVERS = {
  redis: redisServerBinary,
  valkey: valkeyServerBinary,
  'newest-redis': () => newestServerBinary('redis'),
  'newest-valkey': () => newestServerBinary('valkey'),
}
/** In test/redis: where servers differ. */
const OF_SERVERS = [
  'concurrency.test',
  'conformance.test',
  'differential.test',
  'drivers.test',
  'no-scripts.test',
  'one-write.test',
  'permissions.test',
]
/** And where versions of ioredis differ. */
const OF_CLIENTS = [
  'client-check.test',
  'client-options.test',
  'database.test',
  'moving-slot.test',
  'start-up.test',
]
const BOTH = [...OF_SERVERS, ...OF_CLIENTS]

const node = nodeBinary(newestNode())
const WEIR_IOREDIS = createRequire(`${root}internal/fleet/package.json`).resolve('ioredis5')
const { values, positionals } = parseArgs({
  options: { short: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const there = readdirSync(`${root}packages/core/test/redis`)
const missing = [
  ...BOTH.filter((name) => !there.includes(`${name}.ts`)),
  ...positionals.filter((name) => !(name in SERVERS)),
]

if (missing.length > 0) {
  console.error(`there is no ${missing.join(', no ')}; servers: ${Object.keys(SERVERS).join(', ')}`)
  process.exitCode = 2
} else if (values.short) {
  core('newest-redis', OF_SERVERS, { WEIR_SHORT: '1' })
  core('newest-valkey', BOTH, { WEIR_SHORT: '1', WEIR_IOREDIS })
} else {
  for (const server of positionals.length > 0 ? positionals : Object.keys(SERVERS)) {
    core(server, [], {})
    core(server, BOTH, { WEIR_IOREDIS })
    vitest(server, [], { WEIR_STEP: 'clients' })
    const matrix = 'internal/fleet/dist/internal/fleet/src/faults/run.js'
    run(server, [matrix, '--short', '--jobs', '2'], {})
  }
}

/** @param {string[]} files by default, all */
function core(server, files, env) {
  vitest(server, ['--project', 'core redis*', ...files], env)
}

function vitest(server, args, env) {
  run(server, ['node_modules/vitest/vitest.mjs', 'run', ...args], env)
}

function run(server, args, env) {
  const binary = SERVERS[server]()
  console.log(`Node ${execFileSync(node, ['-v'], { encoding: 'utf8' }).trim()}, ${version(binary)}`)
  const { status } = spawnSync(node, args, {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      // Processes that the tests start use the same Node.
      PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
      REDIS_SERVER_BIN: binary,
      ...env,
    },
  })
  process.exitCode ||= status ?? 1
}
