// The command `weir` in a project that has node-redis, and not ioredis.

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { redisStore, slidingWindow } from '@weir/core'
import { livePolicies } from '@weir/core/live'
import { fromNodeRedis } from '@weir/core/node-redis'
import { waitUntil } from '@weir/testkit'
import * as redis from 'redis'
import { expect, onTestFinished, test } from 'vitest'
import { workerRedis } from '../../../../packages/core/test/redis/servers.js'
import { nodeRedisClient, nodeRedisCluster } from './node-redis.js'
import { STRICT } from './other-clients.js'

const { port, clusterPorts } = workerRedis()
const execute = promisify(execFile)
const cli = join(
  createRequire(import.meta.url).resolve('@weir/core/package.json'),
  '../dist/cli.cjs',
)
const api = (limit: number) => ({ name: 'api', limit, window: '1m' }) as const
const policy = JSON.stringify({ algorithm: 'sliding-window', ...api(20) })

/** Runs `weir limits` in a new project. */
async function limits(...args: readonly string[]): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), 'weir-project-'))
  mkdirSync(join(cwd, 'node_modules'))
  const from = join(import.meta.dirname, '../../node_modules/redis')
  symlinkSync(from, join(cwd, 'node_modules/redis'), 'dir')
  // Packages would also be looked for there.
  const env = { ...process.env, NODE_PATH: '' }
  try {
    const { stdout, stderr } = await execute(process.execPath, [cli, 'limits', ...args], {
      cwd,
      env,
    }).catch((error) => error)
    return stdout + stderr
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

test.each([
  ['a single server', nodeRedisClient(redis, port), [`redis://127.0.0.1:${port}`]],
  [
    'a Cluster',
    nodeRedisCluster(redis, clusterPorts),
    [`redis://127.0.0.1:${clusterPorts[0]}`, '--cluster'],
  ],
])('it uses node-redis, on %s', async (_, client, to) => {
  await client.connect()
  onTestFinished(() => client.destroy())
  const store = redisStore(fromNodeRedis(client), STRICT)
  const name = `command-${Date.now()}`
  const live = livePolicies(store, { name, defaults: { free: slidingWindow(api(10)) } })
  onTestFinished(async () => {
    live.close()
    await store.close()
  })
  await live.refresh()
  const at = ['--name', name, '--redis', ...to]
  await waitUntil('this process has reported', async () => {
    return (await limits('list', ...at)).includes(', 1 process')
  })
  expect(await limits('set', 'free', policy, ...at)).toContain('20')
  expect(await limits('list', ...at)).toContain('20')
})

test('if node-redis cannot connect, the command prints its error', async () => {
  const args = ['list', '--name', 'a', '--redis', 'redis://127.0.0.1:1']
  expect(await limits(...args)).toContain('the client said "connect ECONNREFUSED')
})

test('the command ends when it has refused something, though node-redis is connecting', async () => {
  const args = ['set', 'free', 'garbage', '--name', 'a', '--redis', `redis://127.0.0.1:${port}`]
  expect(await limits(...args)).toContain('WEIR_INVALID_POLICY')
})
