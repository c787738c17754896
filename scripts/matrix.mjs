// Runs core's tests on the versions that the packages support: Node 20 (or the one that runs this)
// and the newest, Redis and Valkey, ioredis 5 and 6. It runs all 8 combinations; or with --short
// only the one that differs from a plain `npm test` in all three, and only the tests in which
// scripts, commands and clients differ the most. Then, on both Nodes, it runs the simulation of
// internal/fleet, whose stories must be the same. Needs a build.
import { execFileSync, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newestNode, nodeBinary } from '../internal/testkit/servers/node.mjs'
import {
  redisServerBinary,
  valkeyServerBinary,
  version,
} from '../internal/testkit/servers/redis.mjs'
import { sameHistories } from './same-history.mjs'
import { IOREDIS } from './supported.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { resolve } = createRequire(`${root}internal/fleet/package.json`)
const short = process.argv.includes('--short')

const present = process.execPath
const newest = nodeBinary(newestNode())
const redis = redisServerBinary()
const valkey = valkeyServerBinary()
const all = [present, newest].flatMap((node) =>
  [redis, valkey].flatMap((server) => IOREDIS.map((ioredis) => ({ node, server, ioredis }))),
)
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
const failed = (short ? all.slice(-1) : all).filter((combination) => !passes(combination))
console.log('\nmatrix: the same seeds on both')
const isSame = sameHistories([present, newest])
process.exitCode = failed.length === 0 && isSame ? 0 : 1

function passes({ node, server, ioredis }) {
  // Tests without Redis depend only on Node.
  const hasUnit = !short && server === redis && ioredis === '6'
  const client = resolve(ioredis === '5' ? 'ioredis5' : 'ioredis')
  const title = `Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}, ${version(server)}, ioredis ${ioredis}`
  console.log(`\nmatrix: ${title}`)
  const { status } = spawnSync(
    node,
    [
      ...['node_modules/vitest/vitest.mjs', 'run', '--project', hasUnit ? 'core *' : 'core redis*'],
      ...(short ? SHORT : []),
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        // Processes that the tests start use the same Node.
        PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
        REDIS_SERVER_BIN: server,
        ...(ioredis === '5' ? { WEIR_IOREDIS: client } : {}),
      },
    },
  )
  console.log(`matrix: ${status === 0 ? 'passed' : 'FAILED'}: ${title}`)
  return status === 0
}
