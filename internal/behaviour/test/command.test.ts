// The command `weir`, as a shell runs it: what it prints, where, and its exit code.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type RedisServer, startRedis } from '@weir/testkit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from './documents.js'

const core = join(root, 'packages/core')
const { bin } = JSON.parse(readFileSync(join(core, 'package.json'), 'utf8')) as {
  readonly bin: { readonly weir: string }
}
// A project that has installed ioredis.
const cwd = resolve(import.meta.dirname, '..')

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

test.each([
  [0, 'is asked for help', '--help', /^weir: .*\n/],
  [0, 'has listed', 'limits list --name plans', /^"plans", version 0, 0 processes/],
  [1, 'finds no Redis', 'limits list --redis redis://127.0.0.1:1 --name plans', /ECONNREFUSED/],
  [2, 'is not told which settings', 'limits list', /: --name is missing; give the name /],
])('exit code %i: a command that %s', (code, _, args, said) => {
  const env = { ...process.env, REDIS_URL: `redis://127.0.0.1:${redis.port}` }
  const command = [join(core, bin.weir), ...args.split(' ')]
  const options = { cwd, env, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, command, options)
  const [good, bad] = code === 0 ? [stdout, stderr] : [stderr, stdout]
  expect(good).toMatch(said)
  expect([status, bad]).toEqual([code, ''])
})
