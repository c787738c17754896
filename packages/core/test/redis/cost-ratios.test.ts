// What a decision costs as a multiple of something measured beside it: a regression of a third
// fails here, on a busy machine too. From run to run the ratios differ by a tenth, as the floor is
// short. The figures themselves are in docs/algorithms.md and docs/benchmarks.md.

import { type RedisServer, startRedis } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tokenBucket } from '../../src/algorithms/bucket/buckets.js'
import { fixedWindow } from '../../src/algorithms/fixed-window/fixed-window.js'
import type { Policy } from '../../src/algorithms/policy.js'
import { slidingCounter } from '../../src/algorithms/sliding-counter/sliding-counter.js'
import { slidingLog, slidingWindow } from '../../src/algorithms/sliding-log/sliding-log.js'
import { prepareScript } from '../../src/redis/transport/call.js'
import { keyFormat } from '../../src/redis/transport/keys.js'
import { makePolicySet } from '../../src/request.js'
import { patientClient } from './patient.js'
import { verdictsOf } from './verdicts.js'

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

const limit = 100_000

describe("the server's time, as a multiple of that of a script of INCR and PEXPIRE", () => {
  const MINIMAL = `local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count`
  const ROUNDS = 9
  const KEYS = 64

  /** Microseconds of a script call, by the server's own account. */
  async function scriptUs(calls: number, call: () => Promise<unknown>): Promise<number> {
    await client.config('RESETSTAT')
    for (let i = 0; i < calls; i += 1) await call()
    const stats = await client.info('commandstats')
    return Number(/^cmdstat_evalsha:calls=\d+,usec=(\d+)/m.exec(stats)?.[1]) / calls
  }

  test.each<readonly [policy: Policy, batched: number, alone: number]>([
    [tokenBucket({ capacity: limit, refill: limit, every: '10m' }), 1.9, 7.5],
    [fixedWindow({ limit, window: '10m' }), 2.1, 6.5],
    [slidingCounter({ limit, window: '10m' }), 2.2, 6.5],
    [slidingLog({ limit, window: '10m' }), 3.1, 7.5],
    [slidingWindow({ limit, window: '10m' }), 3.1, 7.5],
  ])('of $algorithm', async (policy, batched, alone) => {
    const policySet = makePolicySet('cost', [policy])
    const line = prepareScript(keyFormat('weir'), policySet)
    const groups = Array.from({ length: KEYS }, (_, i) => ({
      policySet,
      key: `u${i}`,
      costs: [1],
      count: 1,
    }))
    const minimal = await client.script('LOAD', MINIMAL)
    const ask = (some: typeof groups) => verdictsOf(client, line, 'consume', some, undefined)
    await ask(groups)
    const least = {
      minimal: Number.POSITIVE_INFINITY,
      batched: Number.POSITIVE_INFINITY,
      alone: Number.POSITIVE_INFINITY,
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      // Whatever else the machine does only adds to a time: the least of the rounds is compared.
      let i = 0
      const floorUs = await scriptUs(500, () =>
        client.evalsha(minimal as string, 1, `minimal${i++ % KEYS}`, 600_000),
      )
      const batchUs = await scriptUs(20, () => ask(groups))
      const aloneUs = await scriptUs(200, () => ask(groups.slice(0, 1)))
      least.minimal = Math.min(least.minimal, floorUs)
      least.batched = Math.min(least.batched, batchUs / KEYS)
      least.alone = Math.min(least.alone, aloneUs)
    }
    expect(least.batched / least.minimal, 'in a call of 64').toBeLessThan(batched)
    expect(least.alone / least.minimal, 'alone').toBeLessThan(alone)
  })
})
