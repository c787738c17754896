// The simulated server is held to the real one: the same random walks, call by call, get the same
// replies from both.

import { type RedisServer, startRedis } from '@weir/testkit'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  kernelNames,
  type WalkRecipe,
  walks,
} from '../../../packages/core/test/redis/differential/recipe.js'
import { replay } from '../../../packages/core/test/redis/differential/replay.js'
import { takeWalk } from '../../../packages/core/test/redis/differential/walk.js'
import { patientClient } from '../../../packages/core/test/redis/patient.js'
import { SimulatedRedis } from '../src/redis/server.js'

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = await patientClient(server.port)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

/** What the replay asks of a client. */
function clientOf(redis: SimulatedRedis): Redis {
  const { keyspace } = redis
  return {
    status: 'ready',
    options: {},
    script: async (_: string, source: string) => redis.load(source),
    info: async () => `rdb_changes_since_last_save:${keyspace.changes}`,
    pttl: async (key: string) => keyspace.ttlMs(key),
    callBuffer: async (command: string, args: string[]) => redis.run(command, args),
  } as unknown as Redis
}

let walked = 0

async function check(recipe: WalkRecipe): Promise<void> {
  const walk = takeWalk(recipe)
  walked += 1
  const prefix = `fleet${walked}`
  // The walk is held to the real server as well, so what both are said to reply is the same.
  await replay(client, walk, prefix)
  await replay(clientOf(new SimulatedRedis(() => Date.now() * 1_000)), walk, prefix)
}

test.each(kernelNames)('replies to random calls of %s as the real one does', async (kernel) => {
  await fc.assert(fc.asyncProperty(walks(kernel), check), { numRuns: 40, seed: 1 })
  expect(walked).toBeGreaterThan(0)
})
