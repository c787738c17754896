// Runs core's tests on what differs from a plain `npm test` in all three: the newest Node, Valkey,
// and ioredis 5. The jobs of .github/workflows/ci.yml run `npm test` on each Node and server.
//
//   node scripts/other-versions.mjs            the tests that use Redis
//   node scripts/other-versions.mjs --short    those in which scripts and clients differ most
import { execFileSync, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { delimiter, dirname } from 'node:path'
import { newestNode, nodeBinary } from '../internal/testkit/servers/node.mjs'
import { valkeyServerBinary, version } from '../internal/testkit/servers/redis.mjs'
import { root } from './packages.mjs'

const node = nodeBinary(newestNode())
const server = valkeyServerBinary()
const client = createRequire(`${root}internal/fleet/package.json`).resolve('ioredis5')
/** In test/redis. */
const SHORT = [
  'client-check',
  'client-options',
  'client-states',
  'conformance.test',
  'database',
  'drivers',
  'moving-slot',
  'one-write',
  'permissions',
  'plain-loop',
  'script-flush',
  'start-up',
]

const short = process.argv.includes('--short') ? SHORT : []
const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'core redis*', ...short]
console.log(`Node ${execFileSync(node, ['-v'], { encoding: 'utf8' }).trim()}, ${version(server)}`)
const { status } = spawnSync(node, args, {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    // Processes that the tests start use the same Node.
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    REDIS_SERVER_BIN: server,
    WEIR_IOREDIS: client,
  },
})
process.exitCode = status ?? 1
