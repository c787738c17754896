// The page shows the calls that Weir really makes to Redis.

import { readFileSync } from 'node:fs'
import { RateLimiter, recommendedRedisOptions, redisStore } from '@weir/core'
import { kernelOf } from '@weir/core/internal'
import { type RedisServer, startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kernels } from '../../../packages/core/src/testing/algorithms.js'
import { ALGORITHMS } from '../src/algorithms.js'
import { askedOf, LIMITER } from '../src/redis.js'
import { DEFAULTS } from '../src/settings.js'

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, { ...recommendedRedisOptions, connectTimeout: 10_000 })
  await new Promise((resolve) => client.once('ready', resolve))
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

/** How often each command has been called so far. */
async function callsOf(): Promise<ReadonlyMap<string, number>> {
  const info = String(await server.command('INFO', 'commandstats'))
  const lines = [...info.matchAll(/^cmdstat_(\w+):calls=(\d+)/gm)]
  return new Map(lines.map(([, name, calls]) => [String(name).toUpperCase(), Number(calls)]))
}

describe.each(ALGORITHMS)('of $id', (algorithm) => {
  const settings = { ...DEFAULTS, limit: 3, burst: 3, window: '1h' as const }
  const policy = algorithm.policy(settings)
  const key = `u${ALGORITHMS.indexOf(algorithm)}`
  const asked = askedOf(policy, algorithm.stored, key)

  test('the key, the arguments and the commands are those of a real decision', async () => {
    const sent: string[][] = []
    const store = redisStore(
      {
        callBuffer: (command: string, args: (string | Buffer | number)[]) => {
          sent.push([command, ...args.map(String)])
          return client.callBuffer(command, args)
        },
      } as never,
      { instances: 1, deadlineMs: 10_000, whenUnavailable: 'throw', denyCache: false },
    )
    const limiter = new RateLimiter({ name: LIMITER, store, policy, shared: true })
    const before = await callsOf()
    for (let i = 0; i < 5; i += 1) await limiter.consume(key)
    const after = await callsOf()
    limiter.close()
    await store.close()

    const evalsha = sent.filter(([command]) => command?.toUpperCase() === 'EVALSHA')
    expect(evalsha).toHaveLength(5)
    for (const [command, , ...rest] of evalsha)
      expect([command?.toUpperCase(), '<script>', ...rest].join(' ')).toBe(asked.call)
    expect(await client.exists(asked.key)).toBe(1)

    const used = [...after].filter(([name, calls]) => calls > (before.get(name) ?? 0))
    const others = ['EVALSHA', 'EVAL', 'INFO', 'TIME', 'EXISTS', 'SELECT']
    const inScript = used.map(([name]) => name).filter((name) => !others.includes(name))
    const known = [...asked.reads, ...asked.writes]
    expect(inScript.filter((name) => !known.includes(name))).toEqual([])
    expect(inScript.some((name) => asked.reads.includes(name))).toBe(true)
    expect(inScript.some((name) => asked.writes.includes(name))).toBe(true)
  })

  test('the commands are all that its Lua has for plain requests', () => {
    const [folder] = Object.entries(kernels).find(([, { id }]) => id === kernelOf(policy)?.id) ?? []
    const path = `../../../packages/core/src/algorithms/${folder}`
    const lua = readFileSync(new URL(`${path}/kernel.lua`, import.meta.url), 'utf8')
    const commands = [...lua.matchAll(/\bp?call\('(\w+)'/g)].map(([, name]) => String(name))
    expect([...new Set(commands)].sort()).toEqual([...asked.reads, ...asked.writes].sort())
  })
})
