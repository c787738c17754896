// The simulated server behaves as the real one: it gives the same replies to the same random walks,
// call by call.

import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import type { CallMode } from '../../../packages/core/src/algorithms/modes.js'
import type { Policy } from '../../../packages/core/src/index.js'
import { HEARTBEAT } from '../../../packages/core/src/redis/heartbeat.js'
import { unpackNumbers } from '../../../packages/core/src/redis/transport/msgpack.js'
import {
  kernelNames,
  type WalkRecipe,
  walks,
} from '../../../packages/core/test/redis/differential/recipe.js'
import { replay } from '../../../packages/core/test/redis/differential/replay.js'
import { takeWalk } from '../../../packages/core/test/redis/differential/walk.js'
import { ownRedis } from '../../../packages/core/test/redis/own.js'
import { makersOf } from '../src/fleet/policies.js'
import { SimulatedRedis } from '../src/redis/server.js'
import { scriptOf } from './contract-calls.js'

const { client } = await ownRedis()

/** The part of a client that the replay uses. */
function clientOf(redis: SimulatedRedis): Redis {
  const { keyspace } = redis
  return {
    status: 'ready',
    options: {},
    script: async (_: string, source: string) => redis.load(source),
    info: async () => `rdb_changes_since_last_save:${keyspace.changes}`,
    pttl: async (key: string) => keyspace.ttlMs(key),
    call: async (command: string, args: string[]) => redis.run(command, args),
    callBuffer: async (command: string, args: string[]) => redis.run(command, args),
  } as unknown as Redis
}

let walked = 0

async function check(recipe: WalkRecipe): Promise<void> {
  const walk = takeWalk(recipe)
  walked += 1
  const prefix = `fleet${walked}`
  // The real server replays the walk as well, so both give the recorded replies.
  await replay(client, walk, prefix)
  await replay(clientOf(new SimulatedRedis(() => Date.now() * 1_000)), walk, prefix)
}

test.each(kernelNames)('replies to random calls of %s as the real one does', async (kernel) => {
  await fc.assert(fc.asyncProperty(walks(kernel), check), { numRuns: 25, seed: 1 })
  expect(walked).toBeGreaterThan(0)
})

const ALGORITHMS = ['token-bucket', 'fixed-window', 'sliding-counter', 'sliding-log'] as const

/** Takes one unit of a key by an algorithm, and returns the reply. */
async function takeBy(client: Redis, algorithm: (typeof ALGORITHMS)[number], key: string) {
  const policy = makersOf(algorithm, 1)[0]?.(10) as Policy
  const { source, argumentsFor } = scriptOf('foreign', policy)
  await client.script('LOAD', source)
  const reply = await client.callBuffer('evalsha', argumentsFor('consume', key).with(2, key))
  return unpackNumbers(reply as Buffer)
}

test('the state of another algorithm under a key is foreign, and is left alone, as on the real server', async () => {
  for (const redis of [client, clientOf(new SimulatedRedis(() => Date.now() * 1_000))]) {
    for (const first of ALGORITHMS) {
      for (const second of ALGORITHMS) {
        const key = `{foreign}:${first}-${second}`
        await takeBy(redis, first, key)
        const [, granted, ...others] = await takeBy(redis, second, key)
        const [, , left] = await takeBy(redis, first, key)
        const isSame = first === second
        expect([key, granted, left]).toEqual([key, isSame ? 1 : -1, isSame ? 7 : 8])
        if (!isSame) expect(others).toEqual([0, 0, 0])
      }
    }
  }
})

const OOM = 'OOM command not allowed'

/** What a server without memory answers to each mode, and to a heartbeat. */
async function whenFull(redis: Redis, set: (isFull: boolean) => unknown) {
  const { source, argumentsFor } = scriptOf('full', makersOf('fixed-window', 1)[0]?.(10) as Policy)
  await redis.script('LOAD', source)
  const ask = async (mode: CallMode, key: string, cost: number) => {
    const nowUs = Date.now() * 1_000
    const given = { costs: [cost], untilUs: [nowUs + 3_600_000_000], seenUs: nowUs }
    const args = argumentsFor(mode, key, given, nowUs)
    return redis.callBuffer('evalsha', args).then(
      (reply) => unpackNumbers(reply as Buffer)[1],
      ({ message }) => message.slice(0, OOM.length),
    )
  }
  await ask('consume', 'used', 4)
  await set(true)
  const answers = {
    granted: await ask('consume', 'used', 1),
    unseen: await ask('consume', 'unseen', 1),
    denied: await ask('consume', 'used', 7),
    peek: await ask('peek', 'used', 1),
    penalty: await ask('penalty', 'used', 1),
    refund: await ask('refund', 'used', 1),
    reconcile: await ask('reconcile', 'used', 1),
    restore: await ask('restore', 'used', 9),
    'restore of nothing lost': await ask('restore', 'used', 4),
    reset: await ask('reset', 'used', 0),
    beat: await redis.call('eval', [HEARTBEAT, '2', '{full}:1', '{full}:2', 'me', '1000', '']),
  }
  await set(false)
  return answers
}

test('a server without memory refuses what writes and answers what reads, as the real server does', async () => {
  const redis = new SimulatedRedis(() => Date.now() * 1_000)
  const simulated = await whenFull(clientOf(redis), (isFull) => {
    redis.isFull = isFull
  })
  const real = await whenFull(client, (isFull) =>
    client.config('SET', 'maxmemory', isFull ? '1' : '0'),
  )
  expect(simulated).toEqual(real)
  expect(real).toMatchObject({ granted: OOM, restore: OOM, denied: 0, peek: 1, reset: 1 })
})
