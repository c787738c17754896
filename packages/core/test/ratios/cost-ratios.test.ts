// What a decision costs the server as a multiple of something measured beside it, as
// docs/benchmarks.md and docs/algorithms.md say.

import { judged } from '@weir/testkit'
import { describe, expect, test } from 'vitest'
import type { PolicyDescription } from '../../src/algorithms/description.js'
import { prepareScript } from '../../src/redis/transport/call.js'
import { keyFormat } from '../../src/redis/transport/keys.js'
import { makePolicySet } from '../../src/request.js'
import { policyFactories } from '../../src/testing/algorithms.js'
import { ownRedis } from '../redis/own.js'
import { verdictsOf } from '../redis/verdicts.js'

const { client } = await ownRedis()

const limit = 100_000

describe("the server's time, as a multiple of that of a script with INCR and PEXPIRE", () => {
  const MINIMAL = `local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count`
  const ROUNDS = 5
  const KEYS = 64

  /** The microseconds of a script call, according to the server. */
  async function scriptUs(calls: number, call: () => Promise<unknown>): Promise<number> {
    await client.config('RESETSTAT')
    for (let i = 0; i < calls; i += 1) await call()
    const stats = await client.info('commandstats')
    return Number(/^cmdstat_evalsha:calls=\d+,usec=(\d+)/m.exec(stats)?.[1]) / calls
  }

  test.each(Object.entries(policyFactories))('of %s', (_, policy) => judged(() => costs(policy)))

  async function costs({ of, cost }: PolicyDescription): Promise<void> {
    const policySet = makePolicySet('cost', [of(limit, '10m')])
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
    const ratios: { readonly batched: number; readonly alone: number }[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      // Other load on the machine affects all three of a round: their ratios are compared.
      let i = 0
      const floorUs = await scriptUs(500, () =>
        client.evalsha(minimal as string, 1, `minimal${i++ % KEYS}`, 600_000),
      )
      const batchUs = await scriptUs(20, () => ask(groups))
      const aloneUs = await scriptUs(200, () => ask(groups.slice(0, 1)))
      ratios.push({ batched: batchUs / KEYS / floorUs, alone: aloneUs / floorUs })
    }
    expect(median(ratios.map((each) => each.batched)), 'in a call of 64').toBeLessThan(cost.batched)
    expect(median(ratios.map((each) => each.alone)), 'alone').toBeLessThan(cost.alone)
  }
})

/** Of an odd number of values. */
function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[(values.length - 1) / 2] as number
}
