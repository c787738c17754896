// Runs core's tests on what differs from a plain `npm test`: the newest Node, with ioredis 5 on the
// newest Valkey, and with the present ioredis on the newest Redis. The jobs of
// .github/workflows/ci.yml run `npm test` on each Node.
//
//   node scripts/other-versions.mjs            the tests that use Redis
//   node scripts/other-versions.mjs --short    those in which scripts and clients differ most
import { execFileSync, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { delimiter, dirname } from 'node:path'
import { newestNode, nodeBinary } from '../internal/testkit/servers/node.mjs'
import { newestServerBinary, version } from '../internal/testkit/servers/redis.mjs'
import { root } from './packages.mjs'

const node = nodeBinary(newestNode())
const ioredis5 = createRequire(`${root}internal/fleet/package.json`).resolve('ioredis5')
/** In test/redis: where servers differ. */
const OF_SERVERS = [
  'concurrency.test',
  'conformance.test',
  'drivers',
  'no-scripts',
  'one-write',
  'permissions',
]
/** And where versions of ioredis differ. */
const OF_CLIENTS = ['client-check', 'client-options', 'database', 'moving-slot', 'start-up']

const isShort = process.argv.includes('--short')

run(newestServerBinary('redis'), isShort ? OF_SERVERS : [], {})
run(newestServerBinary('valkey'), isShort ? [...OF_SERVERS, ...OF_CLIENTS] : [], {
  WEIR_IOREDIS: ioredis5,
})

/** @param {string[]} files by default, all */
function run(server, files, env) {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'core redis*', ...files]
  console.log(`Node ${execFileSync(node, ['-v'], { encoding: 'utf8' }).trim()}, ${version(server)}`)
  const { status } = spawnSync(node, args, {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      // Processes that the tests start use the same Node.
      PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
      REDIS_SERVER_BIN: server,
      ...env,
    },
  })
  process.exitCode ||= status ?? 1
}
