// How much an attacker gets in any one window: by knowing the edges, and by thousands of attempts
// to do better.

import { seedOf } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { prepareScript } from '../../src/redis/transport/call.js'
import { keyFormat } from '../../src/redis/transport/keys.js'
import { makePolicySet } from '../../src/request.js'
import { type Measured, measure } from './attack/targets.js'
import { singleClient } from './clients.js'
import { verdictsOf } from './verdicts.js'

const TRIES = 10_000
const seed = seedOf(1)
const measured = measure(seed, TRIES)

describe.each(measured)(`$call, seed ${seed}`, ({ call, policy, bound, edge, searched, worst }) => {
  test('gives no attacker more than its bound', () => {
    expect(edge).toBeLessThanOrEqual(bound)
    expect(searched).toBeLessThanOrEqual(bound)
  })

  test('was really attacked: the worst result comes close to the bound', () => {
    expect(Math.max(edge, searched)).toBeGreaterThanOrEqual(0.99 * bound)
    expect(searched).toBeGreaterThanOrEqual(0.6 * bound)
  })

  test('grants the worst attack the same in Redis', async () => {
    expect(await grantsInRedis(singleClient(), `adversary-${seed}-${call}`, policy, worst)).toEqual(
      worst.calls.map(({ granted }) => granted),
    )
  })
})

test.each(measured.filter(({ call }) => /^sliding(Log|Window)/.test(call)))(
  '$call is strict: never more than the limit in any window',
  ({ policy, bound, searched }) => {
    expect(bound).toBe(policy.limit)
    expect(searched).toBe(policy.limit)
  },
)

async function grantsInRedis(
  client: Redis,
  key: string,
  policy: Measured['policy'],
  { calls }: Measured['worst'],
): Promise<unknown[]> {
  const policySet = makePolicySet('adversary', [policy])
  const line = prepareScript(keyFormat('adversary'), policySet)
  await client.script('LOAD', line.script.source)
  const replies = await Promise.all(
    calls.map(({ request, nowUs }) =>
      verdictsOf(client, line, request.mode, [{ ...request, policySet, key }], nowUs),
    ),
  )
  return replies.map(
    ({ verdicts: [verdict] }) => verdict && 'granted' in verdict && verdict.granted,
  )
}
