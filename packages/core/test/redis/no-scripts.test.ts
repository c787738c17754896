// Servers that run no Lua scripts: decisions are local, and a warning says what to do.

import { openConnection, startRedis, waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { fixedWindow, RateLimiter, recommendedRedisOptions, redisStore } from '../../src/index.js'

function warnings(): unknown[] {
  const codes: unknown[] = []
  const spy = vi
    .spyOn(process, 'emitWarning')
    .mockImplementation(((_: string, { code }: { code: string }) => codes.push(code)) as never)
  onTestFinished(() => spy.mockRestore())
  return codes
}

/** A limiter on a server, with what it takes to stop both. */
async function limiterOn(port: number): Promise<RateLimiter> {
  const client = new Redis(port, recommendedRedisOptions)
  client.on('error', () => {})
  const store = redisStore(client, { instances: 1 })
  onTestFinished(async () => {
    await store.close()
    client.disconnect()
  })
  await new Promise((resolve) => client.once('ready', resolve))
  const policy = fixedWindow({ name: 'p', limit: 1_000, window: '1h' })
  return new RateLimiter({ name: `scripts-${port}`, store, policy })
}

test('EVAL is renamed: decisions are local, and a warning says so once', async () => {
  const codes = warnings()
  const renamed = ['EVAL', 'EVALSHA'].flatMap((name) => ['--rename-command', name, ''])
  const server = await startRedis({ args: renamed })
  onTestFinished(() => server.stop())
  const limiter = await limiterOn(server.port)
  for (let i = 0; i < 20; i += 1)
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, source: 'local' })
  expect(codes).toEqual(['WEIR_NO_SCRIPTS'])
})

test('the module for Lua is unloaded, where it is a module: decisions are local meanwhile', async () => {
  const codes = warnings()
  const server = await startRedis({ args: ['--enable-module-command', 'yes'] })
  onTestFinished(() => server.stop())
  const { command, close } = openConnection(server.port)
  onTestFinished(close)
  const limiter = await limiterOn(server.port)
  expect(await limiter.consume('k')).toMatchObject({ source: 'store' })
  const modules = JSON.stringify(await command('MODULE', 'LIST'))
  // Before Valkey 9.1, and in Redis, Lua is a part of the server.
  if (!modules.includes('"lua"')) {
    await expect(command('MODULE', 'UNLOAD', 'lua')).rejects.toThrow()
    expect(await limiter.consume('k')).toMatchObject({ source: 'store' })
    return
  }
  await command('MODULE', 'UNLOAD', 'lua')
  await waitUntil('decisions are local', async () => {
    return (await limiter.consume('k')).source === 'local'
  })
  expect(codes).toEqual(['WEIR_NO_SCRIPTS'])
})
