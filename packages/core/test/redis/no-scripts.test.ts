// Servers that run no Lua scripts: decisions are local, and errors say what to do. The fault matrix
// unloads the module for Lua.

import { startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { livePolicies } from '../../src/entries/live.js'
import {
  fixedWindow,
  RateLimiter,
  type RedisStore,
  recommendedRedisOptions,
  redisStore,
} from '../../src/index.js'

function warnings(): unknown[] {
  const codes: unknown[] = []
  const spy = vi
    .spyOn(process, 'emitWarning')
    .mockImplementation(((_: string, { code }: { code: string }) => codes.push(code)) as never)
  onTestFinished(() => spy.mockRestore())
  return codes
}

const policy = fixedWindow({ name: 'p', limit: 1_000, window: '1h' })

/** A limiter on a server, with what it takes to stop both. */
async function limiterOn(port: number): Promise<{ limiter: RateLimiter; store: RedisStore }> {
  const client = new Redis(port, recommendedRedisOptions)
  client.on('error', () => {})
  const store = redisStore(client, { instances: 1 })
  onTestFinished(async () => {
    await store.close()
    client.disconnect()
  })
  await new Promise((resolve) => client.once('ready', resolve))
  return { limiter: new RateLimiter({ name: `scripts-${port}`, store, policy }), store }
}

test('EVAL is renamed: decisions are local, and errors and one warning say so', async () => {
  const codes = warnings()
  const renamed = ['EVAL', 'EVALSHA'].flatMap((name) => ['--rename-command', name, ''])
  const server = await startRedis({ args: renamed })
  onTestFinished(() => server.stop())
  const { limiter, store } = await limiterOn(server.port)
  const failed = {
    code: 'WEIR_NO_SCRIPTS',
    message: expect.stringMatching(
      / runs no Lua scripts: .*EVALSHA.*; load its module .*no_scripts/i,
    ),
    cause: { name: 'ReplyError' },
  }
  await expect(limiter.reset('k')).rejects.toMatchObject(failed)
  expect(store.health().state).toBe('closed')
  for (let i = 0; i < 20; i += 1)
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
  expect(store.health().state).toBe('open')
  await expect(limiter.reset('k')).rejects.toMatchObject(failed)
  const limits = livePolicies(store, { name: 'live', defaults: { p: policy } })
  onTestFinished(() => limits.close())
  await expect(limits.set('p', policy)).rejects.toMatchObject(failed)
  expect(codes).toContain('WEIR_NO_SCRIPTS')
  expect(codes.filter((code) => code === 'WEIR_NO_SCRIPTS').length).toBe(1)
})
